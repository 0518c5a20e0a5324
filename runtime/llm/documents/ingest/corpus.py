"""Reads the chunks that a course build leaves for a document store."""

from pathlib import Path
from typing import Annotated, Final

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

PLACE: Final = "corpus/chunks.jsonl"
"""Where the chunks lie below the top of a built course."""
MAX_BYTES: Final = 64 << 20
MAX_CHUNKS: Final = 100_000

Short = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$", max_length=200)]
"""Without blanks at its ends: a server would take them away."""
Words = Annotated[str, StringConstraints(pattern=r"\S", max_length=100_000)]


class BadCorpus(Exception):
    """The chunks cannot be read; one line that says where and why."""


class Chunk(BaseModel):
    """A block of a lesson, as the build cut it."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: Short
    lessonId: Short  # noqa: N815 - as the course names it
    url: Annotated[str, StringConstraints(max_length=2000)]
    """Relative to the top of the course."""
    title: Annotated[str, StringConstraints(max_length=2000)]
    text: Words


def chunks_in(site: Path) -> list[Chunk]:
    """The chunks of a built course. Raises `BadCorpus`."""
    try:
        with (site / PLACE).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise BadCorpus(
            f"{site} holds no {PLACE}; is it a built course? (python build.py build)"
        ) from None
    except OSError as error:
        raise BadCorpus(f"{site / PLACE} cannot be read: {error.strerror}") from None
    return parse(data)


def parse(data: bytes) -> list[Chunk]:
    """The chunks in a file, one JSON object a line. Raises `BadCorpus`."""
    if len(data) > MAX_BYTES:
        raise BadCorpus(f"{PLACE}: larger than {MAX_BYTES} bytes")
    lines = [(at, line) for at, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not lines:
        raise BadCorpus(f"{PLACE}: holds no chunk; the build may have been cut off")
    if len(lines) > MAX_CHUNKS:
        raise BadCorpus(f"{PLACE}: more than {MAX_CHUNKS} chunks")
    chunks: dict[str, Chunk] = {}
    for number, line in lines:
        chunk = _chunk(number, line)
        if chunks.setdefault(chunk.id, chunk) is not chunk:
            raise BadCorpus(f"{PLACE}: line {number}: the id {chunk.id!r} is there twice")
    return list(chunks.values())


def _chunk(number: int, line: bytes) -> Chunk:
    try:
        return Chunk.model_validate(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise BadCorpus(f"{PLACE}: line {number}: not JSON") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise BadCorpus(f"{PLACE}: line {number}: {where}: {first['msg'].lower()}") from error
