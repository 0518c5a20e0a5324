"""Only what changed is written, only what the course once wrote is removed."""

from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.documents.digest import digest_of, metadata_text
from runtime.llm.documents.ingest.corpus import Chunk
from runtime.llm.documents.ingest.plan import Wanted, plan, wanted

MODEL = "all-minilm-l6-v2"
NAMES = st.text("abc/. ", max_size=3)
WORDS = st.text("xyz", min_size=1, max_size=3)


def chunk(name: str, text: str = "Brake in a straight line.", title: str = "Braking") -> Chunk:
    return Chunk(id=name, lessonId="braking", url="lessons/braking/#a", title=title, text=text)


def stored(*documents: Wanted) -> dict[str, str]:
    return {document.id: document.digest for document in documents}


def test_a_document_leads_back_to_its_lesson() -> None:
    (document,) = wanted([chunk("braking.intro")], MODEL)
    assert document.id == "lesson/braking.intro"
    assert document.metadata == {
        "kind": "lesson",
        "lessonId": "braking",
        "chunkId": "braking.intro",
        "title": "Braking",
        "url": "lessons/braking/#a",
    }
    (whole,) = wanted([chunk("braking.intro")], MODEL, "https://example.org/course/")
    assert whole.metadata["url"] == "https://example.org/course/lessons/braking/#a"


def test_nothing_is_written_twice() -> None:
    documents = wanted([chunk("a"), chunk("b")], MODEL)
    todo = plan(documents, stored(*documents))
    assert (todo.write, todo.remove, todo.unchanged) == ((), (), 2)


def test_a_change_of_text_title_link_or_model_is_written() -> None:
    before = wanted([chunk("a")], MODEL)
    changes = [
        wanted([chunk("a", text="Brake later.")], MODEL),
        wanted([chunk("a", title="Braking II")], MODEL),
        wanted([chunk("a")], "another-model"),
        wanted([chunk("a")], MODEL, "https://example.org/"),
    ]
    for after in changes:
        assert plan(after, stored(*before)).write == tuple(after)


def test_lessons_that_are_gone_are_removed_and_other_documents_are_not() -> None:
    documents = wanted([chunk("a")], MODEL)
    here = {**stored(*documents), "lesson/old.intro": "0", "notes/monza": "0"}
    assert plan(documents, here).remove == ("lesson/old.intro",)


@given(
    st.dictionaries(NAMES, WORDS, max_size=6),
    st.dictionaries(NAMES, WORDS, max_size=6),
)
def test_carrying_a_plan_out_leaves_exactly_the_course(
    course: dict[str, str], before: dict[str, str]
) -> None:
    was = wanted([chunk(f"x{name}x", text) for name, text in before.items()], MODEL)
    now = wanted([chunk(f"x{name}x", text) for name, text in course.items()], MODEL)
    todo = plan(now, stored(*was))
    held = stored(*was)
    held.update(stored(*todo.write))
    for name in todo.remove:
        del held[name]
    assert held == stored(*now)
    assert plan(now, held).write == ()


def test_the_digest_tells_apart_what_only_looks_the_same_in_a_row() -> None:
    assert digest_of("ab", "c", "m") != digest_of("a", "bc", "m")
    assert digest_of("a", None, "m") == digest_of("a", None, "m")


def test_metadata_is_stored_as_it_was_written() -> None:
    assert metadata_text({"b": "ü", "a": [1, 2.5, None, True]}) == '{"b":"ü","a":[1,2.5,null,true]}'
    assert metadata_text(None) is None
