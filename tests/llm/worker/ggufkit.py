"""Takes a GGUF file apart and puts it together again, changed; knows nothing of our reader."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import gguf

FORMS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B"} | {
    10: "Q",
    11: "q",
    12: "d",
}
U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
Value = int | float | bytes | tuple[int, list[int | float | bytes]]


@dataclass(frozen=True)
class Tensor:
    """An entry of the tensor table, its bytes kept beside it."""

    name: bytes
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class File:
    """A GGUF file in parts."""

    values: dict[bytes, tuple[int, Value]]
    tensors: list[Tensor]
    data: bytes
    version: int = 3
    magic: bytes = b"GGUF"
    counts: tuple[int, int] | None = None
    extra: bytes = field(default=b"")
    """Bytes of further entries, as they are; `counts` must tell of them."""

    def having(self, key: str, kind: int, value: Value) -> "File":
        return replace(self, values=self.values | {key.encode(): (kind, value)})

    def without(self, key: str) -> "File":
        kept = {name: value for name, value in self.values.items() if name != key.encode()}
        return replace(self, values=kept)

    def changed(self, index: int, **changes: object) -> "File":
        tensors = list(self.tensors)
        tensors[index] = replace(tensors[index], **changes)  # type: ignore[arg-type]
        return replace(self, tensors=tensors)

    def index(self, name: str) -> int:
        return [tensor.name.decode() for tensor in self.tensors].index(name)

    def array(self, key: str) -> list[int | float | bytes]:
        value = self.values[key.encode()][1]
        assert isinstance(value, tuple)
        return list(value[1])


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def _packed(kind: int, value: Value) -> bytes:
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, tuple):
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_packed(inner, i) for i in items)
    return struct.pack("<" + FORMS[kind], value)


def build(file: File) -> bytes:
    """The bytes of a file, whether or not they make sense."""
    tensors, keys = file.counts or (len(file.tensors), len(file.values))
    out = [file.magic, struct.pack("<IQQ", file.version, tensors, keys)]
    for key, (kind, value) in file.values.items():
        out += [text(key), struct.pack("<I", kind), _packed(kind, value)]
    out.append(file.extra)
    for tensor in file.tensors:
        out += [text(tensor.name), struct.pack("<I", len(tensor.shape))]
        out += [struct.pack("<Q", size) for size in tensor.shape]
        out.append(struct.pack("<IQ", tensor.kind, tensor.offset))
    head = b"".join(out)
    return head + bytes(-len(head) % 32) + file.data


def parse(path: Path) -> File:
    """The parts of a sound file."""
    reader = gguf.GGUFReader(path)
    values = {
        key.encode(): (int(found.types[0]), _value(found))
        for key, found in reader.fields.items()
        if not key.startswith("GGUF.")
    }
    tensors = [
        Tensor(
            tensor.name.encode(),
            tuple(map(int, tensor.shape)),
            int(tensor.tensor_type),
            tensor.data_offset - reader.data_offset,
        )
        for tensor in reader.tensors
    ]
    return File(values, tensors, path.read_bytes()[reader.data_offset :])


def _value(found: gguf.ReaderField) -> Value:
    items = [
        bytes(part) if found.types[-1] == STRING else part[0].item()
        for part in (found.parts[index] for index in found.data)
    ]
    return (int(found.types[-1]), items) if found.types[0] == ARRAY else items[0]


WHOLE: Final = (0, 1, 2, 3, 5, 7, 31, 33, 255, 256, 4095, 65535, 2**31 - 1, 2**31, 2**32 - 1)
BROKEN: Final = (0.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-38, 1e38)


def mutants(file: File) -> Iterator[tuple[str, File]]:
    """Every single change of a value, of a list and of an entry of the tensor table, by name."""
    for key, (kind, value) in file.values.items():
        name = key.decode()
        yield f"{name} gone", file.without(name)
        yield f"{name} as text", file.having(name, STRING, b"x")
        yield f"{name} as a number", file.having(name, U32, 7)
        if isinstance(value, tuple):
            yield from _list_mutants(file, name, value)
        elif isinstance(value, bytes):
            for other in (b"", b"x", b"llama", b"gemma", b"\xff\xfe", b"A" * 5000):
                yield f"{name} = {other[:9]!r}", file.having(name, STRING, other)
        elif kind == F32:
            for number in BROKEN:
                yield f"{name} = {number}", file.having(name, F32, number)
        else:
            for whole in WHOLE:
                if kind != BOOL or whole < 256:
                    yield f"{name} = {whole}", file.having(name, kind, whole)
    for index, tensor in enumerate(file.tensors):
        yield from _tensor_mutants(file, index, tensor)


def _list_mutants(
    file: File, name: str, value: tuple[int, list[int | float | bytes]]
) -> Iterator[tuple[str, File]]:
    inner, items = value
    shapes: dict[str, list[int | float | bytes]] = {
        "empty": [],
        "short": items[:-1],
        "one": items[:1],
        "doubled": items * 2,
        "reversed": items[::-1],
    }
    for what, changed in shapes.items():
        yield f"{name} {what}", file.having(name, ARRAY, (inner, changed))
    odd: tuple[int | float | bytes, ...] = (
        (b"", b" ", b"\xff", b"a b", b"q" * 5000, items[0])
        if inner == STRING
        else (0, 1, 2, 3, 4, 5, 6, 7, 99, 2**31 - 1)
    )
    for entry in odd:
        for at in (0, len(items) // 2, len(items) - 1):
            changed = [*items[:at], entry, *items[at + 1 :]]
            shown = entry[:9] if isinstance(entry, bytes) else entry
            yield f"{name}[{at}] = {shown!r}", file.having(name, ARRAY, (inner, changed))
        yield f"{name} all {entry!r:.12}", file.having(name, ARRAY, (inner, [entry] * len(items)))


def _tensor_mutants(file: File, index: int, tensor: Tensor) -> Iterator[tuple[str, File]]:
    name = tensor.name.decode()
    rest = [*file.tensors[:index], *file.tensors[index + 1 :]]
    yield f"{name} gone", replace(file, tensors=rest)
    yield f"{name} renamed", file.changed(index, name=tensor.name + b"x")
    yield f"{name} twice", replace(file, tensors=[*file.tensors, tensor])
    for kind in (*range(44), 99, 2**31):
        yield f"{name} of type {kind}", file.changed(index, kind=kind)
    for offset in (1, 32, 2**40, 2**63, 2**64 - 32):
        yield f"{name} at {offset}", file.changed(index, offset=offset)
    for shape in ((), (0,), (1,), (2**40,), (2**32, 2**32), (1, 1, 1, 1, 1), tensor.shape[::-1]):
        yield f"{name} {shape}", file.changed(index, shape=shape)
    yield f"{name} with ones", file.changed(index, shape=(*tensor.shape, 1))
    halved = (tensor.shape[0] // 2, *tensor.shape[1:])
    yield f"{name} halved", file.changed(index, shape=halved)
