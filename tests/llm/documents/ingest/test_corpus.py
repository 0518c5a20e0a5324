"""The chunks of a course are read whole, or the first fault is named with its line."""

import json
from pathlib import Path

import pytest

from runtime.llm.documents.ingest.corpus import BadCorpus, chunks_in, parse

GOOD = {
    "id": "read-a-lap.intro",
    "lessonId": "read-a-lap",
    "url": "lessons/read-a-lap/",
    "title": "Read a lap",
    "text": "Turn the columns into a story.",
}


def lines(*objects: object) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in objects)


def test_chunks_come_in_the_order_of_the_file() -> None:
    found = parse(lines(GOOD, {**GOOD, "id": "b", "further": 1}) + b"\n\n")
    assert [chunk.id for chunk in found] == ["read-a-lap.intro", "b"]
    assert found[0].title == "Read a lap"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "holds no chunk"),
        (b"\n \n", "holds no chunk"),
        (lines(GOOD) + b"\n\n{", "line 3: not JSON"),
        (lines({**GOOD, "id": "a "}), "line 1: id"),
        (lines({**GOOD, "text": " \n"}), "line 1: text"),
        (b"[]", "line 1"),
        (lines({**GOOD, "text": ""}), "line 1: text"),
        (lines({**GOOD, "id": 7}), "line 1: id"),
        (lines({k: v for k, v in GOOD.items() if k != "url"}), "line 1: url"),
        (lines(GOOD, GOOD), "line 2: the id 'read-a-lap.intro' is there twice"),
        (b"\xff\xfe", "line 1: not JSON"),
    ],
)
def test_a_fault_is_named_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(BadCorpus) as raised:
        parse(data)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_that_is_no_course_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match=r"is it a built course"):
        chunks_in(tmp_path)
    (tmp_path / "corpus" / "chunks.jsonl").mkdir(parents=True)
    with pytest.raises(BadCorpus, match="cannot be read"):
        chunks_in(tmp_path)
