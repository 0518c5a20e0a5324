"""What the metadata of a model file says, held against what an engine can compute with."""

import math
from typing import Final, NamedTuple

Value = int | float | bool | str | list[int] | None

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
_WORD_PIECES: Final = "bert"  # a tokenizer that cannot spell every text, and so never writes one


def _hex_byte(byte: int) -> tuple[bytes, ...]:
    return (f"<0x{byte:02X}>".encode(), bytes([byte]))


def _escaped_byte(byte: int) -> tuple[bytes, ...]:
    short = {9: b"\\t", 10: b"\\n", 13: b"\\r"}.get(byte, b"")
    return (f"\\x{byte:02x}".encode(), bytes([byte]), short or bytes([byte]))


_BYTE_TOKENS: Final = {"llama": _hex_byte, "rwkv": _escaped_byte}
"""Tokenizers that fall back to single bytes and end the process if one is missing."""

TOKENS: Final = "tokenizer.ggml.tokens"


class Impossible(Exception):
    """The metadata contradict themselves or an engine; the text is for a client."""


class Metadata(NamedTuple):
    """The keys of a file; an array's values are there only if they are few."""

    values: dict[str, Value]
    lengths: dict[str, int]
    vocabulary: set[bytes]


class Facts:
    """Metadata of one file, by question."""

    def __init__(
        self,
        metadata: Metadata,
        shapes: dict[str, tuple[int, ...]],
    ) -> None:
        self.values = metadata.values
        self._lengths = metadata.lengths
        self._vocabulary = metadata.vocabulary
        self._shapes = shapes
        self.architecture = self.text("general.architecture")
        if not self.architecture:
            raise Impossible("the file does not name its architecture")
        self.split = self._split()
        self.context_length = self._size("context_length", _CONTEXT)
        self.block_count = self._size("block_count", _LAYERS)
        self.embedding_length = self._size("embedding_length", _WIDTH)
        self.vocab_size = self._vocab_size()

    def text(self, key: str) -> str:
        """A text, empty if there is none."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    @property
    def embedding_only(self) -> bool:
        """Whether the model cannot continue a text."""
        causal = self.values.get(f"{self.architecture}.attention.causal", True)
        pooled = self.values.get(f"{self.architecture}.pooling_type", 0)
        named = any(word in self.architecture for word in _EMBEDDERS)
        named = named or self.text("tokenizer.ggml.model") == _WORD_PIECES
        return named or causal is False or pooled not in (0, None)

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of a token in the KV cache of all layers."""
        heads = self._per_layer("attention.head_count", None)
        kv_heads = self._per_layer("attention.head_count_kv", heads)
        width = self.embedding_length // (max(heads) or 1)
        both = self._number("attention.key_length", width)
        both += self._number("attention.value_length", width)
        return sum(kv_heads) * both * _KV_NUMBER_BYTES

    def check(self) -> None:
        """Raise Impossible for what an engine would stumble over."""
        self._check_heads()
        self._check_numbers()
        self._check_vocabulary()
        if self.split[1] <= 1 and not self._shapes:
            raise Impossible("the file holds no weights")

    def _get(self, name: str) -> Value:
        return self.values.get(f"{self.architecture}.{name}")

    def _size(self, name: str, limit: int) -> int:
        value = self._get(name)
        if type(value) is not int or not 0 < value <= limit:
            raise Impossible(f"the file declares an impossible {name.replace('_', ' ')}")
        return value

    def _number(self, name: str, otherwise: int) -> int:
        value = self._get(name)
        if value is None:
            return otherwise
        if type(value) is not int or not 0 < value <= _WIDTH:
            raise Impossible(f"the file declares an impossible {name}")
        return value

    def _per_layer(self, name: str, otherwise: list[int] | None) -> list[int]:
        """One number a layer; a single number stands for all of them."""
        key = f"{self.architecture}.{name}"
        value = self.values.get(key)
        if value is None and key not in self.values and otherwise is not None:
            return otherwise
        if type(value) is int:
            value = [value] * self.block_count
        if not isinstance(value, list) or len(value) < self.block_count:
            raise Impossible(f"the file declares an impossible {name}")
        value = value[: self.block_count]
        if not all(type(n) is int and 0 <= n <= _WIDTH for n in value):
            raise Impossible(f"the file declares an impossible {name}")
        return value

    def _split(self) -> tuple[int, int]:
        index, count = self.values.get("split.no", 0), self.values.get("split.count", 1)
        if type(index) is not int or type(count) is not int:
            raise Impossible("the file belongs to an impossible set of files")
        count = max(count, 1)
        if not 0 <= index < count <= 1024:
            raise Impossible("the file belongs to an impossible set of files")
        return index, count

    def _vocab_size(self) -> int:
        tokens = self._lengths.get(TOKENS, 0)
        if self.text("tokenizer.ggml.model") in ("", "none", "no_vocab") or not tokens:
            raise Impossible("the file has no vocabulary")
        return tokens

    def _check_heads(self) -> None:
        heads = self._per_layer("attention.head_count", None)
        kv_heads = self._per_layer("attention.head_count_kv", heads)
        if not any(heads):
            raise Impossible("the file declares no attention heads")
        if any(kv and (not n or n % kv) for n, kv in zip(heads, kv_heads, strict=True)):
            raise Impossible("the file declares attention heads that do not share evenly")
        width = self._number("attention.key_length", self.embedding_length // max(heads))
        self._number("attention.value_length", width)
        if not width:
            raise Impossible("the file declares more attention heads than numbers")
        rope = self._get("rope.dimension_count")
        if rope is not None and (type(rope) is not int or not 0 <= rope <= width or rope % 2):
            raise Impossible("the file declares an impossible rope.dimension_count")
        self._check_experts()
        self._check_special_layers(kv_heads)

    def _count(self, name: str) -> int:
        """A number that is 0 when it is missing."""
        value = self._get(name)
        if value is not None and (type(value) is not int or value < 0):
            raise Impossible(f"the file declares an impossible {name}")
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
            raise Impossible("the file declares an impossible number of experts")

    def _check_special_layers(self, kv_heads: list[int]) -> None:
        """What single architectures need and the engine only finds out by ending the process."""
        sections = self._get("rope.dimension_sections")
        needed = self.architecture in _SECTIONED or sections is not None
        if needed and not (isinstance(sections, list) and any(sections[:3])):
            raise Impossible("the file declares impossible rope sections")
        if self._get("rope.scaling.type") not in _SCALINGS:
            raise Impossible("the file declares an unknown rope.scaling.type")
        if self._count("nextn_predict_layers") > self.block_count:
            raise Impossible("the file declares an impossible nextn_predict_layers")
        if self.architecture == "jamba" and all(kv_heads):
            raise Impossible("the file declares no recurrent layer where there must be one")

    def _check_numbers(self) -> None:
        for name in (*_POSITIVE, *_FINITE):
            value = self._get(name)
            if value is None:
                continue
            if not isinstance(value, float) or not math.isfinite(value):
                raise Impossible(f"the file declares an impossible {name}")
            if name in _POSITIVE and value <= 0:
                raise Impossible(f"the file declares an impossible {name}")

    def _check_vocabulary(self) -> None:
        for key in ("tokenizer.ggml.token_type", "tokenizer.ggml.scores"):
            if self._lengths.get(key, self.vocab_size) != self.vocab_size:
                raise Impossible("the lists of the vocabulary differ in length")
        for key, value in self.values.items():
            special = key.startswith("tokenizer.ggml.") and key.endswith("_token_id")
            if special and (type(value) is not int or not 0 <= value < self.vocab_size):
                raise Impossible("a special token lies outside the vocabulary")
        spellings = _BYTE_TOKENS.get(self.text("tokenizer.ggml.model"))
        if spellings and any(self._vocabulary.isdisjoint(spellings(byte)) for byte in range(256)):
            raise Impossible("the vocabulary has no tokens for single bytes")
        for name in ("token_embd.weight", "output.weight"):
            shape = self._shapes.get(name)
            if shape is not None and self.vocab_size and shape[-1:] != (self.vocab_size,):
                raise Impossible("the vocabulary does not fit the weights")
