"""Reads the header of a GGUF file and refuses what an engine should not see.

Nothing in the file is believed: counts, lengths and offsets are held against the size of the file
before they are used, so a lying header costs no more time or memory than an honest one.
"""

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from runtime.llm.models import gguf_types as kinds
from runtime.llm.models.gguf_facts import TOKENS, Facts, Impossible, Metadata, Value

_KEYS: Final = 1 << 16
_TENSORS: Final = 1 << 16
_STRINGS: Final = 2_000_000  # entries of all arrays of strings together
_NAME: Final = 64  # bytes of a tensor name, as in the engine
_KEY: Final = 65_535
_TEXT: Final = 1 << 24  # bytes of any other text, chat templates among them
_HEADER: Final = 1 << 28  # bytes of a whole header; the largest vocabularies take 30 MB
_CHUNK: Final = 1 << 18
_KEPT_ARRAY: Final = 4096  # entries of a number array whose values matter: one a layer
_U64: Final = struct.Struct("<Q").unpack_from


class BadModelFile(Exception):
    """The file is no model that an engine may open; the text is for a client."""


@dataclass(frozen=True)
class Header:
    """What a catalog and an engine need to know of a model file."""

    size: int
    """Bytes of the file."""
    architecture: str
    name: str
    quantization: str
    parameters: int
    context_length: int
    """Tokens that the model was trained for."""
    block_count: int
    embedding_length: int
    vocab_size: int
    kv_bytes_per_token: int
    """Of one token in the KV cache, at 16 bits a number."""
    chat_template: str | None
    embedding_only: bool
    """The model cannot continue a text."""
    split: tuple[int, int]
    """Index and count of the files of the model; (0, 1): it is whole."""


class _Reader:
    """A cursor over the header that cannot leave the file.

    It reads rather than maps: a file that shrinks while it is mapped ends the process.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self.data = bytearray()
        self.at = 0
        self.strings = 0

    def need(self, end: int) -> None:
        """Have the bytes up to *end* in `data`."""
        if end > self.size:
            raise BadModelFile("the file ends too early")
        if end > _HEADER:
            raise BadModelFile("the header of the file is too long")
        while len(self.data) < end:
            more = self._file.read(max(_CHUNK, end - len(self.data)))
            if not more:
                raise BadModelFile("the file ends too early")
            self.data += more

    def take(self, size: int) -> int:
        """Step over *size* bytes and answer where they begin."""
        at = self.at
        self.need(at + size)
        self.at = at + size
        return at

    def u32(self) -> int:
        at = self.take(4)
        return int.from_bytes(self.data[at : at + 4], "little")

    def u64(self) -> int:
        at = self.take(8)
        return int.from_bytes(self.data[at : at + 8], "little")

    def raw(self, limit: int) -> bytes:
        size = self.u64()
        if size > limit:
            raise BadModelFile("a name or text in the file is too long")
        at = self.take(size)
        return bytes(self.data[at : at + size])

    def text(self, limit: int) -> str:
        try:
            return self.raw(limit).decode("utf-8")
        except UnicodeDecodeError:
            raise BadModelFile("a name or text in the file is no UTF-8") from None

    def scalar(self, kind: int) -> int | float | bool:
        form, size = kinds.SCALARS[kind]
        (value,) = struct.unpack_from(form, self.data, self.take(size))
        if kind == kinds.BOOL and value > 1:
            raise BadModelFile("a switch in the file is neither on nor off")
        number: int | float = value
        return bool(number) if kind == kinds.BOOL else number

    def skip_strings(self, count: int) -> None:
        """Step over strings; the fast path of vocabularies, hence the repeated look-ups."""
        self.strings += count
        if self.strings > _STRINGS or count > (self.size - self.at) // 8:
            raise BadModelFile("the file declares more texts than it holds")
        data, at = self.data, self.at
        have = len(data) - 8
        for _ in range(count):
            if at > have:
                self.need(at + 8)
                have = len(data) - 8
            at += 8 + _U64(data, at)[0]
        self.need(at)
        self.at = at

    def vocabulary(self) -> tuple[set[bytes], int]:
        """The tokens, which must differ; an empty one gets a name from the engine."""
        if self.u32() != kinds.STRING:
            raise BadModelFile("the vocabulary is no list of texts")
        count, at = self.u64(), self.at
        self.skip_strings(count)
        data = bytes(self.data[at : self.at])
        tokens: set[bytes] = set()
        at = empty = 0
        for _ in range(count):
            begin = at + 8
            at = begin + _U64(data, at)[0]
            tokens.add(data[begin:at])
            empty += at == begin
        if len(tokens) + max(empty - 1, 0) != count:
            raise BadModelFile("the vocabulary holds a token twice")
        return tokens, count


def read(path: str | os.PathLike[str]) -> Header:
    """The header of a model file; raises BadModelFile for anything an engine should not see."""
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            raise BadModelFile("the file cannot be read")
        with Path(path).open("rb") as file:
            return _read(_Reader(file, os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise BadModelFile("the file cannot be read") from error


def _read(reader: _Reader) -> Header:
    reader.take(4)
    if reader.data[:4] != b"GGUF":
        raise BadModelFile("this is no GGUF file")
    if reader.u32() not in (2, 3):
        raise BadModelFile("this version of GGUF is not supported")
    tensors, keys = reader.u64(), reader.u64()
    if keys > _KEYS or tensors > _TENSORS:
        raise BadModelFile("the file declares too many entries")
    metadata = _metadata(reader, keys)
    parameters, shapes = _tensors(reader, tensors, metadata.values)
    try:
        facts = Facts(metadata, shapes)
        facts.check()
        return _header(facts, reader.size, parameters)
    except Impossible as error:
        raise BadModelFile(str(error)) from None


def _header(facts: Facts, size: int, parameters: int) -> Header:
    template = facts.values.get("tokenizer.chat_template")
    file_type = facts.values.get("general.file_type")
    return Header(
        size=size,
        architecture=facts.architecture,
        name=facts.text("general.name"),
        quantization=kinds.FILE_TYPES.get(file_type, "") if type(file_type) is int else "",
        parameters=parameters,
        context_length=facts.context_length,
        block_count=facts.block_count,
        embedding_length=facts.embedding_length,
        vocab_size=facts.vocab_size,
        kv_bytes_per_token=facts.kv_bytes_per_token,
        chat_template=template if isinstance(template, str) and template else None,
        embedding_only=facts.embedding_only,
        split=facts.split,
    )


def _metadata(reader: _Reader, count: int) -> Metadata:
    """Values by key, and the lengths of the arrays, whose values are kept only if they are few."""
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    vocabulary: set[bytes] = set()
    for _ in range(count):
        key = reader.text(_KEY)
        if key in values:
            raise BadModelFile("a key appears twice in the file")
        kind = reader.u32()
        if kind == kinds.STRING:
            values[key] = reader.raw(_TEXT).decode("utf-8", "replace")
        elif kind == kinds.ARRAY and key == TOKENS:
            values[key] = None
            vocabulary, lengths[key] = reader.vocabulary()
        elif kind == kinds.ARRAY:
            values[key], lengths[key] = _array(reader)
        elif kind in kinds.SCALARS:
            values[key] = reader.scalar(kind)
        else:
            raise BadModelFile("the file uses an unknown type of value")
    return Metadata(values, lengths, vocabulary)


def _array(reader: _Reader) -> tuple[list[int] | None, int]:
    kind, count = reader.u32(), reader.u64()
    if kind == kinds.STRING:
        reader.skip_strings(count)
        return None, count
    if kind not in kinds.SCALARS:
        raise BadModelFile("the file nests lists or uses an unknown type of value")
    form, size = kinds.SCALARS[kind]
    at = reader.take(size * count)
    if count > _KEPT_ARRAY or form[-1] in "fd":
        return None, count
    return list(struct.unpack_from(f"<{count}{form[-1]}", reader.data, at)), count


def _tensors(
    reader: _Reader, count: int, values: dict[str, Value]
) -> tuple[int, dict[str, tuple[int, ...]]]:
    """Number of weights and the shapes; every tensor lies in the file and none over another."""
    shapes: dict[str, tuple[int, ...]] = {}
    spans: list[tuple[int, int]] = []
    total = 0
    for _ in range(count):
        name = reader.text(_NAME - 1)
        if name in shapes:
            raise BadModelFile("a tensor appears twice in the file")
        dims = reader.u32()
        if not 1 <= dims <= 4:
            raise BadModelFile("a tensor has an impossible number of dimensions")
        shape = tuple(reader.u64() for _ in range(dims))
        kind, offset = reader.u32(), reader.u64()
        numbers = math.prod(shape)
        if not 0 < numbers < 1 << 48:
            raise BadModelFile("a tensor has an impossible size")
        if kind not in kinds.BLOCKS:
            raise BadModelFile("a tensor has an unknown type")
        block, size = kinds.BLOCKS[kind]
        if shape[0] % block:
            raise BadModelFile("a tensor does not consist of whole blocks")
        shapes[name] = shape
        spans.append((offset, numbers // block * size))
        total += numbers
    _check_places(spans, reader, values)
    return total, shapes


def _check_places(spans: list[tuple[int, int]], reader: _Reader, values: dict[str, Value]) -> None:
    alignment = values.get("general.alignment", 32)
    if type(alignment) is not int or not 32 <= alignment <= 1 << 16 or alignment & (alignment - 1):
        raise BadModelFile("the alignment of the file is impossible")
    start = -(-reader.at // alignment) * alignment
    end = 0
    for offset, size in sorted(spans):
        if offset % alignment or offset < end or start + offset + size > reader.size:
            raise BadModelFile("a tensor lies outside the file or over another one")
        end = offset + size
