"""Images and videos of a lesson: kind and size from the bytes, and SVG that can do no harm.

An SVG may hold known elements only, and nothing that runs or loads something.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final
from xml.parsers import expat

from course.diagnostics import Problem, Span, shorten

TYPES: Final = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "webp": "image/webp",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "avif": "image/avif",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
VIDEOS: Final = ("mp4", "webm")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_EBML: Final = b"\x1aE\xdf\xa3"
_NO_FRAME: Final = (0xC4, 0xC8, 0xCC)  # tables of a JPEG, with numbers among those of frames
_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = ("href", "http://www.w3.org/1999/xlink href")
_ELEMENTS: Final = frozenset(
    "svg g defs title desc metadata style switch symbol use marker view path rect circle ellipse "
    "line polyline polygon text tspan textPath linearGradient radialGradient stop pattern clipPath "
    "mask filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix "
    "feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB "
    "feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset fePointLight "
    "feSpecularLighting feSpotLight feTile feTurbulence".split()
)
# CSS and attribute values that load something, or could hide that they do.
_LOADS: Final = re.compile(
    r"url\(\s*[\"']?\s*(?![\"'#\s])|@import|image-set|\bsrc\(|\\|expression\(|javascript:", re.I
)
# What to do about a fault of the XML, by the words of the parser.
_XML_CURES: Final = {
    "not well-formed (invalid token)": "write & in a text as &amp;, < as &lt;",
    "mismatched tag": "close every element: <g> with </g>",
}
_SIZE: Final = re.compile(r"\s*\S+[\s,]+\S+[\s,]+([0-9.]{1,12})[\s,]+([0-9.]{1,12})\s*\Z")


def describe(name: str, data: bytes, lesson_id: str) -> dict[str, Any]:
    """The resource entry of ``media/name`` without its alternative text."""
    stem, _, suffix = name.removeprefix("media/").rpartition(".")
    digest = hashlib.sha256(data).hexdigest()
    entry: dict[str, Any] = {
        "url": f"media/{lesson_id}/{stem}.{digest[:8]}.{suffix.lower()}",
        "mediaType": TYPES[suffix.lower()],
        "bytes": len(data),
        "sha256": digest,
    }
    if size := read_dimensions(suffix.lower(), data):
        entry["width"], entry["height"] = size
    return entry


def read_dimensions(suffix: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels (user units for SVG), or None when the bytes hold none."""
    if suffix == "svg":
        return _svg(data).size
    size = _SIZES[suffix](data) if suffix in _SIZES else None
    return size if size and min(size) > 0 else None


def follows_theme(data: bytes) -> bool:
    """Whether the image is an SVG with colours for dark pages."""
    return b"prefers-color-scheme" in data


def is_video(suffix: str, data: bytes) -> bool:
    """Whether the bytes begin as a video of that kind does."""
    return data.startswith(_EBML) if suffix == "webm" else data[4:8] == b"ftyp"


def is_cut(suffix: str, data: bytes) -> bool:
    """Whether the end of an image that begins well is missing."""
    if suffix == "png":
        at = len(_PNG)
        while data[at + 4 : at + 8] not in (b"IEND", b""):
            at += 12 + int.from_bytes(data[at : at + 4], "big")
        return at + 12 > len(data)
    if suffix == "webp":
        return 8 + int.from_bytes(data[4:8], "little") > len(data)
    return suffix in ("jpg", "jpeg") and b"\xff\xd9" not in data


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


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """From the frame header, the first segment of a kind that has one."""
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 <= len(data) and data[at] == 0xFF:
        kind, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= kind <= 0xCF and kind not in _NO_FRAME:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None


def _avif(data: bytes) -> tuple[int, int] | None:
    """From the first property ispe (image spatial extents)."""
    at = data.find(b"ispe")
    if data[4:12] not in (b"ftypavif", b"ftypavis") or at < 0 or len(data) < at + 16:
        return None
    width, height = struct.unpack(">II", data[at + 8 : at + 16])
    return width, height


_SIZES: Final[dict[str, Callable[[bytes], tuple[int, int] | None]]] = {
    "png": _png,
    "webp": _webp,
    "jpg": _jpeg,
    "jpeg": _jpeg,
    "avif": _avif,
}


def check(name: str, data: bytes, file: str) -> Iterator[Problem]:
    """Why the image must not be published."""
    suffix = name.rpartition(".")[2].lower()
    if suffix == "svg" and (fault := _svg(data).fault):
        yield replace(fault, file=file)
    elif suffix in VIDEOS:
        if not is_video(suffix, data):
            message, wanted = "the video cannot be read", f"a {suffix} file"
            yield Problem("SRC011", file, message, expected=wanted)
    elif read_dimensions(suffix, data) is None:
        wanted = 'an <svg> root with a viewBox="0 0 W H"' if suffix == "svg" else f"a {suffix} file"
        yield Problem("SRC011", file, "the image cannot be read", expected=wanted)
    elif is_cut(suffix, data):
        yield Problem("SRC011", file, "the end of the image is missing", hint="copy it again")


@lru_cache(maxsize=1)  # its faults, then its size
def _svg(data: bytes) -> _SvgReader:
    return _SvgReader().read(data)


class _SvgReader:
    """Finds the size of an SVG in user units, and the first reason not to publish it."""

    def __init__(self) -> None:
        self.size: tuple[int, int] | None = None
        self.fault: Problem | None = None
        self.depth = 0
        self.style = 0
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.ProcessingInstructionHandler = self.instruction

    def read(self, data: bytes) -> _SvgReader:
        """Read all of *data*; a broken text has no size."""
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            self.size, what = None, expat.ErrorString(error.code)
            self.report(f"the SVG is malformed: {what}", None, _XML_CURES.get(what, ""), "SRC011")
        except (ValueError, LookupError):
            self.size = None
        return self

    def harm(self, what: str) -> None:
        """Report a part that runs or loads something, or might."""
        message = "the SVG contains a script or an external reference"
        self.report(message, shorten(what))

    def report(self, message: str, got: str | None, hint: str = "", code: str = "SRC012") -> None:
        """Keep the first fault."""
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        span = Span(line, column, line, column + 1)
        self.fault = self.fault or Problem(code, "", message, span=span, got=got, hint=hint or None)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element of the SVG namespace that draws, with attributes that only describe."""
        space, _, local = name.rpartition(" ")
        if name == "svg" and self.depth == 0:
            hint = f'write <svg xmlns="{_SVG}" and the rest as it is'
            self.report("the <svg> has no xmlns, so browsers do not draw it", None, hint, "SRC011")
        elif space != _SVG or local not in _ELEMENTS:
            self.harm(f"<{local}>")
        if self.depth == 0 and local == "svg" and space == _SVG:
            self.size = _size(attributes.get("viewBox", ""))
        self.depth += 1
        self.style += local == "style"
        for key, value in attributes.items():
            plain = key.rpartition(" ")[2].lower()
            if plain.startswith("on") or plain in ("src", "base", "attributename"):
                self.harm(f"{plain}=")
            elif key in _LINK or plain == "href":
                if not value.strip().startswith("#"):
                    self.harm(f"{plain}={value}")
            elif match := _LOADS.search(value):
                self.harm(f"{plain}: {match[0]}")

    def end(self, name: str) -> None:
        """The end of an element."""
        self.depth -= 1
        self.style -= name.endswith(" style")

    def text(self, text: str) -> None:
        """Text between tags; inside ``style`` it is CSS."""
        if self.style and (match := _LOADS.search(text)):
            self.harm(match[0])

    def doctype(self, *parts: object) -> None:
        """A document type can declare entities, which can grow without limit."""
        hint = "delete the DOCTYPE line"
        self.report("the SVG declares a document type, which can load files", "<!DOCTYPE>", hint)
        raise ValueError("no document type is read")

    def instruction(self, target: str, text: str) -> None:
        """A processing instruction can load a style sheet."""
        self.harm(f"<?{target}?>")


def _size(box: str) -> tuple[int, int] | None:
    match = _SIZE.match(box)
    try:
        width, height = (round(float(match[1])), round(float(match[2]))) if match else (0, 0)
    except ValueError:
        return None
    return (width, height) if width > 0 and height > 0 else None
