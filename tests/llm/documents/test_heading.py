"""The title of a lesson's passage stands in front of its chunks, and of no other document's."""

import pytest

from runtime.llm.documents.digest import digest_of
from runtime.llm.documents.heading import heading_of


@pytest.mark.parametrize(
    ("metadata", "heading"),
    [
        ({"kind": "lesson", "title": "Read a lap"}, "Read a lap"),
        ({"kind": "lesson", "title": " Read\n a\tlap "}, "Read a lap"),
        ({"kind": "lesson", "title": " \n"}, ""),
        ({"kind": "lesson", "title": 7}, ""),
        ({"kind": "lesson"}, ""),
        ({"kind": "note", "title": "Read a lap"}, ""),
        ({"kind": ["lesson"], "title": "Read a lap"}, ""),
        ({"title": "Read a lap"}, ""),
        (["lesson", "Read a lap"], ""),
        ("lesson", ""),
        (None, ""),
    ],
)
def test_only_a_lesson_has_a_heading(metadata: object, heading: str) -> None:
    assert heading_of(metadata) == heading


def test_a_heading_makes_another_document_and_none_leaves_the_digest_as_it_was() -> None:
    before = "085d8b277683d9f1fc339ddeb9cb02ddb3c85a065578333a404f1a3c9d98e937"
    assert digest_of("text", '{"a":1}', "model") == before
    assert digest_of("text", '{"a":1}', "model", "") == before
    assert digest_of("text", '{"a":1}', "model", "Title") != before
