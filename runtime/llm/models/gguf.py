"""Read the header of a GGUF file and reject what an engine should not see.

Nothing in the file is trusted: counts, lengths and offsets are checked against the file's size
before use, so a malicious header costs no more time or memory than a valid one. Then the metadata
are checked against what an engine supports.
"""

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple

Value = int | float | bool | str | list[int] | None

_BOOL: Final = 7
_STRING: Final = 8
_ARRAY: Final = 9

_SCALARS: Final[dict[int, tuple[str, int]]] = {
    0: ("<B", 1),
    1: ("<b", 1),
    2: ("<H", 2),
    3: ("<h", 2),
    4: ("<I", 4),
    5: ("<i", 4),
    6: ("<f", 4),
    _BOOL: ("<B", 1),
    10: ("<Q", 8),
    11: ("<q", 8),
    12: ("<d", 8),
}
"""Value type to its `struct` format and size in bytes."""

_BLOCKS: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
}
"""Tensor type to the numbers and bytes of a block; types of work buffers are omitted."""

_FILE_TYPES: Final[dict[int, str]] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
    40: "Q1_0",
}
"""`general.file_type` to the usual name of the quantization."""

_KEYS: Final = 1 << 16
_TENSORS: Final = 1 << 16
_STRINGS: Final = 2_000_000  # total entries of all string arrays
_NAME: Final = 64  # bytes of a tensor name, as in the engine
_KEY: Final = 65_535
_TEXT: Final = 1 << 24  # bytes of any other text, including chat templates
_HEADER: Final = 1 << 28  # bytes of a header; the largest vocabularies take 30 MB
_CHUNK: Final = 1 << 18
_KEPT_ARRAY: Final = 4096  # maximum entries of a number array that is kept: one per layer
_U64: Final = struct.Struct("<Q").unpack_from

_LAYERS: Final = 512  # the engine's own limit
_EXPERTS: Final = 512  # likewise
_WIDTH: Final = 1 << 20
_CONTEXT: Final = 1 << 30
_KV_NUMBER_BYTES: Final = 2  # f16
_EMBEDDERS: Final = ("bert", "t5encoder", "wavtokenizer")
_POSITIVE: Final = (
    "attention.layer_norm_rms_epsilon",
    "attention.layer_norm_epsilon",
    "rope.freq_base",
    "rope.freq_base_swa",
)
_SCALINGS: Final = (None, "none", "linear", "yarn", "longrope")
_SECTIONED: Final = ("paddleocr",)
_FINITE: Final = (
    *("rope.scaling.factor", "rope.scaling.attn_factor", "rope.scale_linear"),
    *("logit_scale", "embedding_scale", "residual_scale", "attention.scale"),
    *("attn_logit_softcapping", "final_logit_softcapping"),
)
_WORD_PIECES: Final = "bert"  # a tokenizer that cannot spell every text, so it never generates


def _write_hex_byte(byte: int) -> tuple[bytes, ...]:
    return (f"<0x{byte:02X}>".encode(), bytes([byte]))


def _escape_byte(byte: int) -> tuple[bytes, ...]:
    short = {9: b"\\t", 10: b"\\n", 13: b"\\r"}.get(byte, b"")
    return (f"\\x{byte:02x}".encode(), bytes([byte]), short or bytes([byte]))


_BYTE_TOKENS: Final = {"llama": _write_hex_byte, "rwkv": _escape_byte}
"""Tokenizers that fall back to single bytes; if one is missing, the engine crashes."""

_TOKENS: Final = "tokenizer.ggml.tokens"


TemplateSource = Literal["given", "file", "chatml", "none"]
"""Source of a chat template: catalog, file or fallback; none: a base model."""
_CHATML: Final = {b"<|im_start|>", b"<|im_end|>"}


class BadModelFile(Exception):
    """The file is not a model that an engine may open; the text is for a client."""


@dataclass(frozen=True)
class Header:
    """The facts of a model file that the catalog and the engine need."""

    size: int
    """Bytes of the file."""
    architecture: str
    quantization: str
    parameters: int
    context_length: int
    """Context in tokens that the model was trained with."""
    kv_bytes_per_token: int
    """Size of a token in the KV cache, at 16 bits per number."""
    chat_template: str | None
    embedding_only: bool
    """Whether the model cannot generate text."""
    knows_chatml: bool = False
    """Whether the vocabulary has the control tokens of ChatML."""

    def template_source(self, declared: str | None) -> TemplateSource:
        """The source of the chat template; a *declared* one replaces the file's."""
        if declared:
            return "given"
        if self.chat_template:
            return "file"
        return "chatml" if self.knows_chatml else "none"


class _Reader:
    """A cursor over the header that cannot leave the file.

    It reads instead of mapping: a mapped file that shrinks crashes the process.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self.data = bytearray()
        self.at = 0
        self.strings = 0

    def need(self, end: int) -> None:
        """Load the bytes up to *end* into `data`."""
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
        """Skip *size* bytes and return where they begin."""
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
            raise BadModelFile("a name or text in the file is not UTF-8") from None

    def scalar(self, kind: int) -> int | float | bool:
        form, size = _SCALARS[kind]
        (value,) = struct.unpack_from(form, self.data, self.take(size))
        if kind == _BOOL and value > 1:
            raise BadModelFile("a boolean in the file is neither true nor false")
        number: int | float = value
        return bool(number) if kind == _BOOL else number

    def skip_strings(self, count: int) -> None:
        """Skip strings; optimised for vocabularies, hence the repeated look-ups."""
        self.strings += count
        if self.strings > _STRINGS or count > (self.size - self.at) // 8:
            raise BadModelFile("the file declares more texts than it contains")
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
        """Read the tokens, which must differ; the engine names empty ones."""
        if self.u32() != _STRING:
            raise BadModelFile("the vocabulary is not a list of texts")
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
            raise BadModelFile("the vocabulary contains a token twice")
        return tokens, count


class Metadata(NamedTuple):
    """The metadata of a file; values of long arrays are omitted."""

    values: dict[str, Value]
    lengths: dict[str, int]
    vocabulary: set[bytes]


class Facts:
    """Checked access to the metadata of a file."""

    def __init__(self, metadata: Metadata, shapes: dict[str, tuple[int, ...]]) -> None:
        self.values = metadata.values
        self._lengths = metadata.lengths
        self._vocabulary = metadata.vocabulary
        self._shapes = shapes
        self.architecture = self.text("general.architecture")
        if not self.architecture:
            raise BadModelFile("the file does not name its architecture")
        self.split = self._split()
        self.context_length = self._size("context_length", _CONTEXT)
        self.block_count = self._size("block_count", _LAYERS)
        self.embedding_length = self._size("embedding_length", _WIDTH)
        self.vocab_size = self._vocab_size()

    @property
    def knows_chatml(self) -> bool:
        """Whether the vocabulary has the control tokens of ChatML."""
        return self._vocabulary >= _CHATML

    def text(self, key: str) -> str:
        """A text value, or empty if it is missing."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    @property
    def embedding_only(self) -> bool:
        """Whether the model cannot generate text."""
        causal = self.values.get(f"{self.architecture}.attention.causal", True)
        pooling = self.values.get(f"{self.architecture}.pooling_type", 0)
        is_encoder = any(word in self.architecture for word in _EMBEDDERS)
        is_encoder = is_encoder or self.text("tokenizer.ggml.model") == _WORD_PIECES
        return is_encoder or causal is False or pooling not in (0, None)

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of a token in the KV cache over all layers."""
        heads = self._per_layer("attention.head_count", None)
        kv_heads = self._per_layer("attention.head_count_kv", heads)
        width = self.embedding_length // (max(heads) or 1)
        both = self._number("attention.key_length", width)
        both += self._number("attention.value_length", width)
        return sum(kv_heads) * both * _KV_NUMBER_BYTES

    def check(self) -> None:
        """Raise BadModelFile for anything that an engine cannot handle."""
        self._check_heads()
        self._check_numbers()
        self._check_vocabulary()
        if self.split[1] <= 1 and not self._shapes:
            raise BadModelFile("the file contains no weights")

    def _get(self, name: str) -> Value:
        return self.values.get(f"{self.architecture}.{name}")

    def _size(self, name: str, limit: int) -> int:
        value = self._get(name)
        if type(value) is not int or not 0 < value <= limit:
            raise BadModelFile(f"the file declares an impossible {name.replace('_', ' ')}")
        return value

    def _number(self, name: str, otherwise: int) -> int:
        value = self._get(name)
        if value is None:
            return otherwise
        if type(value) is not int or not 0 < value <= _WIDTH:
            raise BadModelFile(f"the file declares an impossible {name}")
        return value

    def _per_layer(self, name: str, otherwise: list[int] | None) -> list[int]:
        """One number per layer; a single number applies to all layers."""
        key = f"{self.architecture}.{name}"
        value = self.values.get(key)
        if value is None and key not in self.values and otherwise is not None:
            return otherwise
        if type(value) is int:
            value = [value] * self.block_count
        if not isinstance(value, list) or len(value) < self.block_count:
            raise BadModelFile(f"the file declares an impossible {name}")
        value = value[: self.block_count]
        if not all(type(n) is int and 0 <= n <= _WIDTH for n in value):
            raise BadModelFile(f"the file declares an impossible {name}")
        return value

    def _split(self) -> tuple[int, int]:
        index, count = self.values.get("split.no", 0), self.values.get("split.count", 1)
        if type(index) is not int or type(count) is not int:
            raise BadModelFile("the file belongs to an impossible set of files")
        count = max(count, 1)
        if not 0 <= index < count <= 1024:
            raise BadModelFile("the file belongs to an impossible set of files")
        return index, count

    def _vocab_size(self) -> int:
        tokens = self._lengths.get(_TOKENS, 0)
        if self.text("tokenizer.ggml.model") in ("", "none", "no_vocab") or not tokens:
            raise BadModelFile("the file has no vocabulary")
        return tokens

    def _check_heads(self) -> None:
        heads = self._per_layer("attention.head_count", None)
        kv_heads = self._per_layer("attention.head_count_kv", heads)
        if not any(heads):
            raise BadModelFile("the file declares no attention heads")
        if any(kv and (not n or n % kv) for n, kv in zip(heads, kv_heads, strict=True)):
            raise BadModelFile("the file declares attention heads that do not share evenly")
        width = self._number("attention.key_length", self.embedding_length // max(heads))
        self._number("attention.value_length", width)
        if not width:
            raise BadModelFile("the file declares more attention heads than numbers")
        rope = self._get("rope.dimension_count")
        if rope is not None and (type(rope) is not int or not 0 <= rope <= width or rope % 2):
            raise BadModelFile("the file declares an impossible rope.dimension_count")
        self._check_experts()
        self._check_special_layers(kv_heads)

    def _count(self, name: str) -> int:
        """A number, 0 if it is missing."""
        value = self._get(name)
        if value is not None and (type(value) is not int or value < 0):
            raise BadModelFile(f"the file declares an impossible {name}")
        return value if isinstance(value, int) else 0

    def _check_experts(self) -> None:
        experts, used = self._count("expert_count"), self._count("expert_used_count")
        groups, used_groups = (
            self._count("expert_group_count"),
            self._count("expert_group_used_count"),
        )
        mixture = "moe" in self.architecture or self.architecture == "smallthinker"
        fine = 0 < used <= experts <= _EXPERTS if experts or mixture else used == groups == 0
        if groups > 1:
            fine = fine and experts % groups == 0 and 0 < used_groups < groups
        if not fine:
            raise BadModelFile("the file declares an impossible number of experts")

    def _check_special_layers(self, kv_heads: list[int]) -> None:
        """Check requirements of certain architectures that would crash the engine."""
        sections = self._get("rope.dimension_sections")
        needed = self.architecture in _SECTIONED or sections is not None
        if needed and not (isinstance(sections, list) and any(sections[:3])):
            raise BadModelFile("the file declares impossible rope sections")
        if self._get("rope.scaling.type") not in _SCALINGS:
            raise BadModelFile("the file declares an unknown rope.scaling.type")
        if self._count("nextn_predict_layers") > self.block_count:
            raise BadModelFile("the file declares an impossible nextn_predict_layers")
        if self.architecture == "jamba" and all(kv_heads):
            raise BadModelFile("the file declares no recurrent layer, but needs one")

    def _check_numbers(self) -> None:
        for name in (*_POSITIVE, *_FINITE):
            value = self._get(name)
            if value is None:
                continue
            if not isinstance(value, float) or not math.isfinite(value):
                raise BadModelFile(f"the file declares an impossible {name}")
            if name in _POSITIVE and value <= 0:
                raise BadModelFile(f"the file declares an impossible {name}")

    def _check_vocabulary(self) -> None:
        for key in ("tokenizer.ggml.token_type", "tokenizer.ggml.scores"):
            if self._lengths.get(key, self.vocab_size) != self.vocab_size:
                raise BadModelFile("the lists of the vocabulary differ in length")
        for key, value in self.values.items():
            special = key.startswith("tokenizer.ggml.") and key.endswith("_token_id")
            if special and (type(value) is not int or not 0 <= value < self.vocab_size):
                raise BadModelFile("a special token is outside the vocabulary")
        spellings = _BYTE_TOKENS.get(self.text("tokenizer.ggml.model"))
        if spellings and any(self._vocabulary.isdisjoint(spellings(byte)) for byte in range(256)):
            raise BadModelFile("the vocabulary has no tokens for single bytes")
        for name in ("token_embd.weight", "output.weight"):
            shape = self._shapes.get(name)
            if shape is not None and self.vocab_size and shape[-1:] != (self.vocab_size,):
                raise BadModelFile("the vocabulary does not fit the weights")


def read(path: str | os.PathLike[str]) -> Header:
    """Read the header of a model file. Raises BadModelFile for anything unsuitable."""
    try:
        if not Path(path).is_file():  # opening a pipe would block
            raise BadModelFile("the file cannot be read")
        with Path(path).open("rb") as file:
            return _read(_Reader(file, os.fstat(file.fileno()).st_size))
    except OSError as error:
        raise BadModelFile("the file cannot be read") from error


def _read(reader: _Reader) -> Header:
    reader.take(4)
    if reader.data[:4] != b"GGUF":
        raise BadModelFile("this is not a GGUF file")
    if reader.u32() not in (2, 3):
        raise BadModelFile("this version of GGUF is not supported")
    tensors, keys = reader.u64(), reader.u64()
    if keys > _KEYS or tensors > _TENSORS:
        raise BadModelFile("the file declares too many entries")
    metadata = _metadata(reader, keys)
    parameters, shapes = _tensors(reader, tensors, metadata.values)
    facts = Facts(metadata, shapes)
    facts.check()
    return _header(facts, reader.size, parameters)


def _header(facts: Facts, size: int, parameters: int) -> Header:
    template = facts.values.get("tokenizer.chat_template")
    file_type = facts.values.get("general.file_type")
    return Header(
        size=size,
        architecture=facts.architecture,
        quantization=_FILE_TYPES.get(file_type, "") if type(file_type) is int else "",
        parameters=parameters,
        context_length=facts.context_length,
        kv_bytes_per_token=facts.kv_bytes_per_token,
        chat_template=template if isinstance(template, str) and template else None,
        embedding_only=facts.embedding_only,
        knows_chatml=facts.knows_chatml,
    )


def _metadata(reader: _Reader, count: int) -> Metadata:
    """Read values by key, and the lengths of arrays; values of long arrays are omitted."""
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    vocabulary: set[bytes] = set()
    for _ in range(count):
        key = reader.text(_KEY)
        if key in values:
            raise BadModelFile("a key appears twice in the file")
        kind = reader.u32()
        if kind == _STRING:
            values[key] = reader.raw(_TEXT).decode("utf-8", "replace")
        elif kind == _ARRAY and key == _TOKENS:
            values[key] = None
            vocabulary, lengths[key] = reader.vocabulary()
        elif kind == _ARRAY:
            values[key], lengths[key] = _array(reader)
        elif kind in _SCALARS:
            values[key] = reader.scalar(kind)
        else:
            raise BadModelFile("the file uses an unknown type of value")
    return Metadata(values, lengths, vocabulary)


def _array(reader: _Reader) -> tuple[list[int] | None, int]:
    kind, count = reader.u32(), reader.u64()
    if kind == _STRING:
        reader.skip_strings(count)
        return None, count
    if kind not in _SCALARS:
        raise BadModelFile("the file nests lists or uses an unknown type of value")
    form, size = _SCALARS[kind]
    at = reader.take(size * count)
    if count > _KEPT_ARRAY or form[-1] in "fd":
        return None, count
    return list(struct.unpack_from(f"<{count}{form[-1]}", reader.data, at)), count


def _tensors(
    reader: _Reader, count: int, values: dict[str, Value]
) -> tuple[int, dict[str, tuple[int, ...]]]:
    """Read the number of weights and the shapes; tensors must be in the file without overlap."""
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
        if kind not in _BLOCKS:
            raise BadModelFile("a tensor has an unknown type")
        block, size = _BLOCKS[kind]
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
            raise BadModelFile("a tensor is outside the file or overlaps another one")
        end = offset + size
