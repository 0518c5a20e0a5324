"""Conversations that stay in the KV cache, and when they are begun anew."""

import asyncio
import os
import signal

import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import REPLIES, Answer, Json, Server, Text

GOLD = REPLIES["<gold>"]


async def turn(server: Server, text: Text, session: str = "s", **fields: Json) -> Answer:
    answer = await server.ask("recall", text, session_id=session, **fields)
    assert answer.status == 200, answer.body
    return answer


def after(*turns: str) -> list[tuple[str, str]]:
    """Alternating turns, the user's first."""
    return [("assistant" if n % 2 else "user", text) for n, text in enumerate(turns)]


async def counters(server: Server) -> dict[str, float]:
    prefix = "llmsvc_session_"
    found = await server.metrics()
    return {
        name.removeprefix(prefix): value
        for name, value in found.items()
        if name.startswith(prefix) and value
    }


async def test_a_following_turn_prefills_only_what_is_new(server: Server) -> None:
    first = await turn(server, "<gold>" + "x" * 500)
    second = await turn(server, after("<gold>" + "x" * 500, first.said, "and?"))

    tokens = second.json["usage"]["prompt_tokens"]
    assert first.cached == 0
    assert second.said == GOLD  # the secret was in the first turn alone
    assert second.cached > 500
    assert 0 < tokens - second.cached < 40
    timings = second.json["timings"]
    assert (timings["cache_n"], timings["prompt_n"]) == (second.cached, tokens - second.cached)
    assert await counters(server) == {"hits_total": 1, "misses_total": 1}


async def test_ten_turns_are_nine_hits(server: Server) -> None:
    turns = ["<gold> 0"]
    for number in range(1, 11):
        answer = await turn(server, after(*turns))
        assert answer.said == GOLD
        turns += [answer.said, f"turn {number}"]
    assert await counters(server) == {"hits_total": 9, "misses_total": 1}


async def test_eight_clients_at_a_time_each_go_on_from_their_own_turn(server: Server) -> None:
    clients = [{"User-Agent": f"client {number}"} for number in range(8)]
    for known in (False, True):
        for headers in clients:
            answer = await server.ask("recall", "<gold>", headers=headers)
            assert (answer.cached > 0) is known, headers


@pytest.mark.parametrize("session", [None, ""])
async def test_without_a_session_only_the_beginning_of_a_prompt_is_reused(
    server: Server, session: str | None
) -> None:
    turns = ["<gold>" + "x" * 500]
    first = await server.ask("recall", after(*turns), session_id=session)
    turns += [first.said, "and?"]
    second = await server.ask("recall", after(*turns), session_id=session)
    assert (first.cached, second.said) == (0, GOLD)
    assert 500 < second.cached < second.json["usage"]["prompt_tokens"]
    assert len(server.service.pool.sessions) == 0
    assert await counters(server) == {}


async def test_a_prompt_of_another_client_was_never_seen(server: Server) -> None:
    text = "<gold>" + "x" * 500
    await server.ask("recall", text, headers={"X-Client-Id": "ann"})
    for headers in ({"X-Client-Id": "bob"}, {"User-Agent": "curl"}):
        assert (await server.ask("recall", text, headers=headers)).cached == 0
    assert (await server.ask("recall", text, headers={"X-Client-Id": "Ann "})).cached > 500


async def test_sessions_do_not_go_for_prompts_without_one(server: Server) -> None:
    for name in "abcd":
        await turn(server, "<gold>", name)
    for letter in "vwxyz":
        await server.ask("recall", letter * 100)
    assert (await server.ask("recall", "z" * 100)).cached > 100  # there is always one place
    for name in "abcd":
        assert (await turn(server, after("<gold>", GOLD, "go"), name)).cached > 0
    assert (await counters(server)) == {"hits_total": 4, "misses_total": 4}


async def test_nothing_is_reused_where_the_settings_say_so(start: Start) -> None:
    async with start(prefix_cache=False) as server:
        for _ in range(2):
            assert (await server.ask("recall", "<gold>" + "x" * 100)).cached == 0


REBUILT: dict[str, tuple[list[tuple[str, str]], Json]] = {
    "an edited reply": (after("<gold>", "no, silver", "go"), {}),
    "another temperature": (after("<gold>", GOLD, "go"), {"temperature": 0.01}),
    "an instruction put before": ([("system", "be brief"), *after("<gold>", GOLD, "go")], {}),
}


@pytest.mark.parametrize("case", REBUILT)
async def test_whatever_does_not_continue_the_conversation_begins_it_anew(
    server: Server, case: str
) -> None:
    turns, fields = REBUILT[case]
    await turn(server, "<gold>")
    answer = await turn(server, turns, **fields)
    fresh = await server.ask("recall", turns, **fields)

    assert answer.said == fresh.said
    found = await counters(server)
    assert found.pop("misses_total") == 1
    ((name, number),) = found.items()
    assert name.startswith("rebuilds_total{reason=")
    assert number == 1


async def test_a_reply_that_was_only_trimmed_is_still_the_same(server: Server) -> None:
    await turn(server, "<gold>")
    answer = await turn(server, after("<gold>", f"\n {GOLD}  ", "go"))
    assert answer.said == GOLD
    assert (await counters(server))["hits_total"] == 1


async def test_a_rebuilt_conversation_goes_on(server: Server) -> None:
    await turn(server, "<gold>")
    await turn(server, "<red>")
    answer = await turn(server, after("<red>", REPLIES["<red>"], "go"))
    assert answer.said == REPLIES["<red>"]
    assert (await counters(server))["hits_total"] == 1


async def test_the_fifth_conversation_takes_the_place_of_the_least_recently_used(
    server: Server,
) -> None:
    for name in "abcd":
        await turn(server, "<gold>", name)
    await turn(server, after("<gold>", GOLD, "go"), "a")
    await turn(server, "<gold>", "e")

    assert (await server.get("/health")).json["sessions_cached"] == 4
    found = await counters(server)
    assert (found["hits_total"], found["misses_total"], found["evictions_total"]) == (1, 5, 1)
    for name, cached in (("a", True), ("b", False)):
        turns = after("<gold>", GOLD, "go", GOLD, "on") if cached else after("<gold>", GOLD, "go")
        answer = await turn(server, turns, name)
        assert (answer.cached > 0) is cached, name


async def test_two_owners_never_share_a_conversation(server: Server) -> None:
    turns = after("<gold>", GOLD, "go")
    await turn(server, "<gold>", headers={"X-Client-Id": "ann"})
    bob = await turn(server, turns, headers={"X-Client-Id": "bob"})
    other = await turn(server, turns, headers={"User-Agent": "curl"})
    ann = await turn(server, turns, headers={"X-Client-Id": " ANN ", "User-Agent": "curl"})
    assert (bob.cached, other.cached) == (0, 0)
    assert ann.cached > 0


async def test_owners_do_not_matter_where_the_settings_say_so(start: Start) -> None:
    async with start(session_scope="global") as server:
        await turn(server, "<gold>", headers={"X-Client-Id": "ann"})
        bob = await turn(server, after("<gold>", GOLD, "go"), headers={"X-Client-Id": "bob"})
    assert bob.cached > 0


async def test_other_budgets_and_models_have_conversations_of_their_own(server: Server) -> None:
    turns = after("<gold>", GOLD, "go")
    await turn(server, "<gold>")
    assert (await turn(server, turns, max_tokens=512)).cached == 0
    assert (await server.ask("strict", turns, session_id="s")).cached == 0
    assert (await counters(server))["misses_total"] == 3


async def test_an_unloaded_engine_takes_its_conversations_along(server: Server) -> None:
    await turn(server, "<gold>")
    unloaded = await server.request("POST", "/v1/engines/unload")
    health = (await server.get("/health")).json
    answer = await turn(server, after("<gold>", GOLD, "go"))

    assert unloaded.json == {"unloaded": 1}
    assert (health["engines_loaded"], health["sessions_cached"]) == (0, 0)
    assert (answer.said, answer.cached) == (GOLD, 0)
    assert (await counters(server))["evictions_total"] == 1


async def test_an_engine_that_dies_takes_its_conversations_along(server: Server) -> None:
    await turn(server, "<gold>")
    (engine,) = server.service.pool.list_engines()
    os.kill(engine.worker.pid, signal.SIGKILL)
    await engine.worker._gone.wait()
    answer = await turn(server, after("<gold>", GOLD, "go"))
    assert (answer.said, answer.cached) == (GOLD, 0)


async def test_a_reply_that_times_out_leaves_no_half_turn_behind(start: Start) -> None:
    async with start() as server:
        first = await server.ask("endless", "<red>", session_id="s", max_completion_tokens=3)
        turns = after("<red>", first.said, "and <gold>")
        server.service.chats.request_s = 1e-9
        late = await server.ask("endless", turns, session_id="s")
        server.service.chats.request_s = 120.0
        again = await server.ask("endless", turns, session_id="s", max_completion_tokens=3)
        fresh = await server.ask("endless", turns, max_completion_tokens=3)
    assert late.status == 408
    assert again.said == fresh.said


async def test_conversations_end_when_they_rested_too_long(start: Start) -> None:
    async with start(session_ttl_ms=1) as server:
        await turn(server, "<gold>")
        await asyncio.sleep(0.01)
        server.service.pool.tick(0)
        answer = await turn(server, after("<gold>", GOLD, "go"))
    assert answer.cached == 0
