"""Which conversations stay cached."""

from runtime.llm.engine.sessions import Sessions, conversation_name


def test_the_least_recently_used_of_five_goes() -> None:
    sessions = Sessions(limit=4)
    for name in "abcd":
        assert sessions.touch(name, "engine") == []
    sessions.touch("a", "engine")

    assert sessions.touch("e", "other") == [("engine", "b")]
    assert (len(sessions), sessions.evictions) == (4, 1)


def test_owners_and_engines_never_share_a_conversation() -> None:
    names = {
        conversation_name(owner, session, engine)
        for owner in ("ann", "bob")
        for session in ("1", "2")
        for engine in ("m_model_LOCAL_CPU", "m_512_LOCAL_CPU")
    }
    assert len(names) == 8


def test_an_unloaded_engine_takes_its_conversations_along() -> None:
    sessions = Sessions()
    sessions.touch("a", "one")
    sessions.touch("b", "two")

    sessions.drop_engine("one")

    assert (len(sessions), sessions.evictions) == (1, 1)


def test_a_conversation_that_rests_too_long_expires() -> None:
    now = 0.0
    sessions = Sessions(ttl_s=60.0, clock=lambda: now)
    sessions.touch("old", "engine")
    now = 50.0
    sessions.touch("young", "engine")
    now = 70.0

    assert sessions.expired() == [("engine", "old")]
    assert len(sessions) == 1
    assert Sessions().expired() == []


def test_outcomes_are_counted_by_kind_and_rebuilds_by_reason() -> None:
    sessions = Sessions()
    for outcome, reason in [("hit", None), ("miss", None), ("rebuilt", "sampler"), (None, None)]:
        sessions.count(outcome, reason)

    assert (sessions.hits, sessions.misses, sessions.rebuilds) == (1, 1, {"sampler": 1})
