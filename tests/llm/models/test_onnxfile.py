"""The look through ONNX files: what is let through, what is refused, and nothing third."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.llm.models import onnxfile
from runtime.llm.models.onnxfile import BadOnnxFile, check
from tests.llm.engine import onnxkit


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def part(number: int, content: bytes | int) -> bytes:
    """A field: a number, or a message or text."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def model(graph: bytes, *more: bytes) -> bytes:
    return part(1, 8) + b"".join(more) + part(7, graph)


EXTERNAL = part(1, 1) + part(13, part(1, b"location") + part(2, b"../secret"))
DECLARED = part(1, 1) + part(14, 1)
INSIDE = part(1, 1) + part(9, b"\0\0\0\0") + part(14, 0)

PLACES: dict[str, Callable[[bytes], bytes]] = {
    "an initializer": lambda tensor: model(part(5, tensor)),
    "values of a sparse one": lambda tensor: model(part(15, part(1, tensor))),
    "indices of a sparse one": lambda tensor: model(part(15, part(2, tensor))),
    "an attribute": lambda tensor: model(part(1, part(5, part(5, tensor)))),
    "tensors of an attribute": lambda tensor: model(part(1, part(5, part(10, tensor)))),
    "a sparse attribute": lambda tensor: model(part(1, part(5, part(22, part(1, tensor))))),
    "sparse tensors of one": lambda tensor: model(part(1, part(5, part(23, part(2, tensor))))),
    "a branch": lambda tensor: model(part(1, part(5, part(6, part(5, tensor))))),
    "one of several branches": lambda tensor: model(part(1, part(5, part(11, part(5, tensor))))),
    "a function": lambda tensor: model(b"", part(25, part(7, part(5, part(5, tensor))))),
    "a default of a function": lambda tensor: model(b"", part(25, part(11, part(5, tensor)))),
    "the start of a training": lambda tensor: model(b"", part(20, part(1, part(5, tensor)))),
    "the steps of a training": lambda tensor: model(b"", part(20, part(2, part(5, tensor)))),
    "a second graph": lambda tensor: model(b"") + part(7, part(5, tensor)),
    "a graph before the version": lambda tensor: part(7, part(5, tensor)) + part(1, 8),
}


def reason(path: Path) -> str:
    with pytest.raises(BadOnnxFile) as caught:
        check(path)
    return str(caught.value)


def reason_of(folder: Path, data: bytes) -> str:
    path = folder / "model.onnx"
    path.write_bytes(data)
    return reason(path)


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("tensor", [EXTERNAL, DECLARED], ids=["named", "declared"])
def test_weights_in_other_files_are_found_wherever_they_hide(
    place: Callable[[bytes], bytes], tensor: bytes, tmp_path: Path
) -> None:
    assert reason_of(tmp_path, place(tensor)) == onnxfile.ELSEWHERE


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_weights_inside_the_file_are_let_through(
    place: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(place(INSIDE))
    check(path)


DECOYS = {
    "a location that is cut to 32 bits": part(1, 1) + part(14, (1 << 32) + 1),
    "a location that is negative": part(14, (1 << 64) - 1),
    "a location that is not a number": varint(14 << 3 | 2) + b"\x01\x01",
    "a name that is a number": part(13, 1),
    "a tag longer than it need be": bytes([14 << 3 | 0x80, 0x80, 0]) + b"\x01",
    "after the data": part(9, b"\0" * 100_000) + part(14, 1),
}


@pytest.mark.parametrize("tensor", DECOYS.values(), ids=DECOYS)
def test_an_unusual_spelling_hides_nothing(tensor: bytes, tmp_path: Path) -> None:
    assert reason_of(tmp_path, model(part(5, tensor))) == onnxfile.ELSEWHERE


def nested(levels: int) -> bytes:
    graph = b""
    for _ in range(levels):
        graph = part(1, part(5, part(6, graph)))
    return model(graph)


BAD = {
    "nothing": (b"", onnxfile.NO_ONNX),
    "a text": (b"hello, this is no model", onnxfile.NO_ONNX),
    "a short text": (b"a text", onnxfile.NO_ONNX),
    "a GGUF file": (b"GGUF\x03\0\0\0" + bytes(100), onnxfile.NO_ONNX),
    "no graph": (part(1, 8), onnxfile.NO_ONNX),
    "no version": (part(7, b""), onnxfile.NO_ONNX),
    "a graph that is a number": (part(1, 8) + part(7, 5), onnxfile.NO_ONNX),
    "a field of number 0": (model(b"") + b"\0\0", onnxfile.NO_ONNX),
    "a group": (model(b"") + varint(30 << 3 | 3), onnxfile.NO_ONNX),
    "a number without an end": (model(b"") + b"\x08" + b"\xff" * 12, onnxfile.NO_ONNX),
    "a length beyond the file": (part(1, 8) + b"\x3a\xff\xff\xff\x7f", onnxfile.ENDS_EARLY),
    "a length of 64 bits": (part(1, 8) + b"\x3a" + varint((1 << 64) - 1), onnxfile.ENDS_EARLY),
    "a part longer than its whole": (model(b"\x0a\x05a"), onnxfile.NO_ONNX),
    "parts in parts": (nested(11), "the parts of the file are nested too deeply"),
    "many parts": (
        model(part(2, b"") * onnxfile.MAX_FIELDS),
        "the file has too many parts",
    ),
}


@pytest.mark.parametrize(("data", "expected"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_usable_model_says_why(
    data: bytes, expected: str, tmp_path: Path
) -> None:
    assert reason_of(tmp_path, data) == expected


def test_branches_in_branches_are_let_through(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(nested(10))
    check(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket", "", "absent"):
            assert reason(tmp_path / name) == onnxfile.UNREADABLE
    assert reason(Path("nul\0")) == onnxfile.UNREADABLE


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return onnxkit.write_tiny(tmp_path_factory.mktemp("tiny"), width=12, words=()).read_bytes()


def test_a_model_that_this_project_writes_is_let_through(tmp_path: Path) -> None:
    check(onnxkit.write_tiny(tmp_path))
    check(onnxkit.write_tiny(tmp_path, "half", half=True))


def test_a_file_that_was_cut_off_is_refused(tiny: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for size in {*range(200), *range(200, len(tiny), 997), len(tiny) - 1}:
        path.write_bytes(tiny[:size])
        with pytest.raises(BadOnnxFile):
            check(path)
