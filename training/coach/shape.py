"""The shape of the coach model and the names of its special tokens."""

from dataclasses import dataclass
from typing import Final

PAD, BOS, START, END = "<|pad|>", "<|bos|>", "<|im_start|>", "<|im_end|>"
SPECIAL: Final = (PAD, BOS, START, END)
CONTEXT_TOKENS: Final = 2048
ROPE_BASE: Final = 10_000.0
NORM_EPSILON: Final = 1e-5
CHAT_TEMPLATE: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a llama-architecture model.

    Every width is a multiple of 32, the block of q8_0; `heads` is a multiple of `kv_heads`.
    """

    vocabulary: int = 1536
    width: int = 192
    layers: int = 5
    heads: int = 3
    kv_heads: int = 1
    hidden: int = 512

    @property
    def head_width(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads

    def __post_init__(self) -> None:
        if self.width % self.heads or self.heads % self.kv_heads:
            raise ValueError("heads must divide the width, and kv_heads the heads")
        if self.width % 32 or self.hidden % 32:
            raise ValueError("width and hidden must be multiples of 32")
