"""A sentence encoder in a worker process, for every file format."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from runtime.llm.engine.protocol import (
    MAX_HEAD,
    MAX_TEXTS,
    Chunks,
    Embed,
    Embedded,
    Fit,
    LoadEncoder,
    Split,
    encode,
)
from runtime.llm.engine.worker import resources
from runtime.llm.engine.worker.resources import Refused

if TYPE_CHECKING:  # a process imports only what its model needs
    from runtime.llm.engine.worker.llama import LlamaEncoder
    from runtime.llm.engine.worker.onnx import OnnxEncoder

MIN_TOKENS: Final = 3
"""Smallest maximum input: two special tokens and one of the text."""
MAX_TOKENS: Final = 8192
"""Largest maximum input: the memory for attention grows with its square."""
MAX_WIDTH: Final = 65_536
"""Maximum numbers per vector."""
NOT_FINITE: Final = "the model returned numbers that are not finite"
NOT_COMPUTED: Final = "the model could not compute the vectors"
_MOST_JSON: Final = 6  # bytes per character, without quotes and commas
_ONNX_MEMORY: Final = (
    2  # times the file size: the whole file is read before the weights are laid out
)


Encoder: TypeAlias = "LlamaEncoder | OnnxEncoder"


def load(command: LoadEncoder) -> Encoder:
    """Load the encoder of a file; imports only the engine that the file needs."""
    path = Path(command.path)
    try:
        if not path.is_file():  # opening a pipe would block
            raise Refused("the file cannot be read")
        size = path.stat().st_size
        with path.open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except (OSError, ValueError):
        raise Refused("the file cannot be read") from None
    resources.refuse_shortage(size if is_gguf else _ONNX_MEMORY * size)
    resources.lower_priority(resources.ENCODER_NICE - resources.CHAT_NICE)
    encoder: Encoder
    if is_gguf:
        from runtime.llm.engine.worker.llama import LlamaEncoder

        encoder = LlamaEncoder(command)
    else:
        from runtime.llm.engine.worker.onnx import OnnxEncoder

        encoder = OnnxEncoder(command)
    if command.dims not in (None, encoder.width):
        raise Refused(
            f"its vectors have {encoder.width} dimensions, not the declared {command.dims}"
        )
    return encoder


def answer(encoder: Encoder, command: Embed | Fit | Split) -> Embedded | Chunks:
    """Execute a command. Raises `Refused`."""
    if isinstance(command, Embed):
        if not 1 <= len(command.texts) <= MAX_TEXTS:
            raise Refused(f"a command may embed 1 to {MAX_TEXTS} texts")
        return encoder.embed(command.texts)
    from runtime.llm.engine.worker.splitting import chunk, fit_chunks

    if isinstance(command, Split):
        chunks = Chunks(chunk(command.text))
        size = sum(map(len, chunks.texts))
        if size * _MOST_JSON > MAX_HEAD and len(encode(0, chunks)) > MAX_HEAD:
            raise Refused("the document is too long")
        return chunks
    if len(command.texts) > MAX_TEXTS:
        raise Refused(f"a command may fit at most {MAX_TEXTS} texts")
    prefix, longest = command.prefix, encoder.max_tokens
    if encoder.count(prefix) >= longest:
        raise Refused("the model's prefix for documents leaves no room for a text")
    return Chunks(fit_chunks(command.texts, lambda text: encoder.count(prefix + text) <= longest))


def check_longest(tokens: int) -> None:
    """Raise `Refused` for an unsupported maximum input."""
    if not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise Refused(f"the maximum input must be {MIN_TOKENS} to {MAX_TOKENS} tokens")


def check_width(width: int) -> None:
    """Raise `Refused` for vectors that do not fit into an answer."""
    if not 1 <= width <= MAX_WIDTH:
        raise Refused(f"the vectors have {width} dimensions; the maximum is {MAX_WIDTH}")
