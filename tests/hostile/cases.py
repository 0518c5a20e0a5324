"""Hostile requests as data: reads the TOML files of this folder and makes bytes of them."""

import gzip
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

FOLDER: Final = Path(__file__).parent
SCHEMAS: Final = FOLDER.parents[1] / "schemas"
PARAMETER: Final = re.compile(r"\{\w+\}")
HERE: Final = "@@"
"""Stands for the value of ``each``."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Piece(Strict):
    """A text that is too long, or no text, to be written down."""

    text: str = ""
    hex: str = ""
    gzip: "Text" = ""
    times: int = 1

    def encode(self) -> bytes:
        packed = gzip.compress(encode(self.gzip)) if self.gzip else b""
        return (self.text.encode() + bytes.fromhex(self.hex) + packed) * self.times


Text = str | Piece | list[str | Piece]


class Value(Strict):
    """A value of ``each`` with an outcome of its own."""

    put: Text
    status: int | None = None
    code: str | int | None = None
    param: str | None = None


class Case(Strict):
    """Requests that differ in one place, and what their answers may be."""

    name: str
    send: list[str] = Field([], description="method and target; the others of a request are made")
    every: str = Field("", description="a method: each operation of the API that has it")
    headers: list[str] = []
    body: Text | None = None
    chunked: bool = False
    raw: Text | None = Field(None, description="all of the request, in place of the above")
    each: dict[str, Text | Value] = Field({"": ""}, description=f"what {HERE} stands for, by name")
    status: list[int] = Field([], description="empty: anything but a failure of the server")
    code: str | int | None = None
    leave: bool = Field(False, description="the client closes the connection at once")
    stop: bool = Field(False, description="the client closes its side, and reads the answer")


class Cases(Strict):
    """A file."""

    words: dict[str, dict[str, str]] = Field({}, description="by server: what $NAME stands for")
    case: list[Case]


class Request(NamedTuple):
    """What is sent, and what may come back."""

    name: str
    method: str
    data: bytes
    status: frozenset[int]
    """Empty: anything but a failure of the server."""
    code: str | int | None
    param: str | None
    leave: bool
    stop: bool


def encode(text: Text) -> bytes:
    """The bytes of a text and its pieces."""
    return b"".join(map(encode, text)) if isinstance(text, list) else text.encode()


def requests(server: str, *files: str) -> Iterator[Request]:
    """Every request of the *files* to a server, ``bridge`` or ``llm``."""
    operations = json.loads((SCHEMAS / server / "openapi.json").read_text())["paths"]
    for file in files:
        read = Cases.model_validate(tomllib.loads((FOLDER / file).read_text()))
        words = {
            f"${name}".encode(): text.encode() for name, text in read.words.get(server, {}).items()
        }
        for case in read.case:
            for request in _of(case, operations):
                data = request.data
                for word, text in words.items():
                    data = data.replace(word, text)
                yield request._replace(data=_framed(data, case) if case.raw is None else data)


def _of(case: Case, operations: Mapping[str, Any]) -> Iterator[Request]:
    lines = [*case.send, *_lines(case.every, operations)] if case.raw is None else [""]
    for line, (name, value) in itertools.product(lines, case.each.items()):
        chosen = value if isinstance(value, Value) else Value(put=value)
        put = encode(chosen.put)
        if case.raw is None:
            head = "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *case.headers, "", ""])
            data = head.encode() + encode(case.body or "")
        else:
            data = encode(case.raw)
        yield Request(
            f"{case.name}: {line} {name}",
            line.partition(" ")[0],
            data.replace(HERE.encode(), put),
            frozenset([chosen.status] if chosen.status else case.status),
            chosen.code or case.code,
            chosen.param,
            case.leave,
            case.stop,
        )


def _framed(data: bytes, case: Case) -> bytes:
    """The request with the length of its body, or the body as two chunks."""
    if case.body is None:
        return data
    head, _, body = data.partition(b"\r\n\r\n")
    if case.chunked:
        parts = (body[: len(body) // 2], body[len(body) // 2 :])
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part)
        return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    return head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def _lines(method: str, operations: Mapping[str, Any]) -> Iterator[str]:
    """Method and target of each operation; a GET has the value as each parameter in turn."""
    for path, found in operations.items():
        operation = found.get(method.lower())
        if operation is None:
            continue
        plain = PARAMETER.sub("s", path)
        if method != "GET":
            yield f"{method} {plain}"
        for parameter in operation.get("parameters", ()) if method == "GET" else ():
            name = parameter["name"]
            if parameter["in"] == "query":
                yield f"{method} {plain}?{name}={HERE}"
            else:
                own = path.replace(f"{{{name}}}", HERE)
                yield f"{method} {PARAMETER.sub('s', own)}"
