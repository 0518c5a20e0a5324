"""Receives a file as the body of a request, plain or in a form, piece by piece."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from aiohttp import BodyPartReader, MultipartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.web.bodies import begin_body, in_time, too_large
from runtime.web.errors import BadField, BadRequest

MIB: Final = 1 << 20
PIECE: Final = 256 * 1024
"""Bytes passed on together; they must arrive within the deadline of a small body."""
PART: Final = "file"
"""Name of the form part with the file."""
FIELD_CAP: Final = 64 * 1024
"""Maximum bytes of any other part."""
MOST_FIELDS: Final = 32
FORM_CAP: Final = MIB
"""Bytes by which a form may exceed its file."""
Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[object]]


class Sent(NamedTuple):
    """The rest of an upload."""

    filename: str | None = None
    """The file name in the form."""
    fields: Sequence[tuple[str, str]] = ()
    """Names and texts of the other parts."""
    beside: Sequence[tuple[str, bytes]] = ()
    """Names and contents of the additional small files."""


async def receive_file(
    request: web.Request, cap: int, write: Write, beside: Mapping[str, int] = {}
) -> Sent:
    """Pass the file of a request to *write*, at most *cap* bytes.

    *beside* names form parts that may be files too, with the total bytes allowed for each name.
    Raises like `read_body`, `BadRequest` without a file, and `BadField` for a form with too many
    parts.
    """
    is_form = request.content_type.startswith("multipart/")
    more = FORM_CAP + sum(beside.values())
    if not await begin_body(request, cap + more if is_form else cap):
        raise BadRequest("the file is empty, or none was sent")
    if not is_form:
        await _hand_on(request, cap, request.content.readany, write, "the file")
        return Sent()
    try:
        return await _receive_form(request, cap, write, beside)
    except (RuntimeError, HttpProcessingError) as problem:  # of aiohttp's reader
        raise BadRequest("the form is badly framed", headers={"Connection": "close"}) from problem


async def _receive_form(
    request: web.Request, cap: int, write: Write, beside: Mapping[str, int]
) -> Sent:
    try:
        form = await request.multipart()
    except ValueError as problem:
        raise BadRequest("the form names no boundary") from problem
    filename: str | None = None
    fields: list[tuple[str, str]] = []
    files: list[tuple[str, bytes]] = []
    has_file = False
    left = dict(beside)
    while (part := await in_time(request, cap, "a part of the form", form.next())) is not None:
        if isinstance(part, MultipartReader) or part.name is None:
            raise BadField("each part of the form must have a name and a value")
        if part.name == PART:
            if has_file:
                raise BadField(f"{PART}: send one file at a time", param=PART)
            has_file, filename = True, part.filename
            await _hand_on(request, cap, _reader(part), write, "the file")
        elif len(fields) + len(files) == MOST_FIELDS:
            raise BadField("the form has too many parts")
        elif part.filename and part.name in left:
            content = await _read_part(request, part, left[part.name], f"the part {part.name}")
            left[part.name] -= len(content)
            files.append((part.filename, content))
        elif content := await _read_part(request, part, FIELD_CAP, "a field of the form"):
            # blank inputs are ignored
            fields.append((part.name, content.decode("utf-8", "replace")))
    if not has_file:
        raise BadField(f"{PART}: the form must have the file as this part", param=PART)
    return Sent(filename, fields, files)


async def _read_part(request: web.Request, part: BodyPartReader, cap: int, whose: str) -> bytes:
    pieces: list[bytes] = []

    async def keep(piece: bytes) -> None:
        pieces.append(piece)

    await _hand_on(request, cap, _reader(part), keep, whose)
    return b"".join(pieces)


def _reader(part: BodyPartReader) -> Read:
    return lambda: part.read_chunk(PIECE)


async def _hand_on(request: web.Request, cap: int, read: Read, write: Write, whose: str) -> None:
    size = 0

    async def next_piece() -> bytes:
        piece = bytearray()
        while len(piece) < PIECE and (some := await read()):
            piece += some
        return bytes(piece)

    while piece := await in_time(request, cap, whose, next_piece()):
        size += len(piece)
        if size > cap:
            raise too_large(f"{whose} is over {cap} bytes")
        await write(piece)
