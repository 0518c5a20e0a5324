"""Images of a lesson: kind and size from the bytes, and SVG that can do no harm."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Any, Final

from course.diagnostics import Problem, Span, short

if TYPE_CHECKING:
    from course.read.svg import Drawing

TYPES: Final = {"svg": "image/svg+xml", "png": "image/png", "webp": "image/webp"}
_PNG: Final = b"\x89PNG\r\n\x1a\n"


def describe(name: str, data: bytes, lesson_id: str) -> dict[str, Any]:
    """The resource entry of an image without its alternative text; ``url`` is site-relative."""
    stem, _, suffix = name.rpartition(".")
    digest = hashlib.sha256(data).hexdigest()
    entry: dict[str, Any] = {
        "url": f"media/{lesson_id}/{stem}.{digest[:8]}.{suffix.lower()}",
        "mediaType": TYPES[suffix.lower()],
        "bytes": len(data),
        "sha256": digest,
    }
    if size := dimensions(suffix.lower(), data):
        entry["width"], entry["height"] = size
    return entry


def dimensions(suffix: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels (user units for SVG), or None when the bytes hold none."""
    if suffix == "svg":
        return _drawing(data).size
    size = _png(data) if suffix == "png" else _webp(data)
    return size if size and min(size) > 0 else None


def _drawing(data: bytes) -> Drawing:
    from course.read import svg  # its parser is not needed by a course without drawings

    return svg.read(data)


def _png(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(_PNG) or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF


def problem(name: str, data: bytes, file: str) -> Problem | None:
    """Why the image must not be published, or None."""
    suffix = name.rpartition(".")[2].lower()
    harm = _drawing(data).harm if suffix == "svg" else None
    if harm is not None:
        line, column = harm.line, harm.column
        return Problem(
            "SRC012",
            file,
            "the SVG holds a script or a reference to something outside",
            span=Span(line, column, line, column + 1),
            got=short(harm.what),
            hint="export it as plain SVG and delete that part",
        )
    if dimensions(suffix, data) is None:
        wanted = 'an <svg> root with a viewBox="0 0 W H"' if suffix == "svg" else f"a {suffix} file"
        return Problem(
            "SRC011", file, "the image cannot be read", expected=wanted, hint="export it again"
        )
    return None
