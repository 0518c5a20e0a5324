"""A sentence encoder in a worker process, whatever the format of its file."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from runtime.llm.engine.protocol import (
    MAX_HEAD,
    MAX_TEXTS,
    Chunks,
    Embed,
    Embedded,
    EncoderLoaded,
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
"""Of a longest input: two special tokens and one of the text."""
MAX_TOKENS: Final = 8192
"""Of a longest input: the memory for attention grows with its square."""
MAX_WIDTH: Final = 65_536
"""Numbers of a vector."""
NOT_FINITE: Final = "the model gave numbers that are not finite"
NOT_COMPUTED: Final = "the model could not compute the vectors"
_MOST_JSON: Final = 6  # bytes of a character, quotes and commas left aside
_ONNX_MEMORY: Final = 2  # times the file: it is read whole before the weights are laid out


Encoder: TypeAlias = "LlamaEncoder | OnnxEncoder"


def load(command: LoadEncoder) -> Encoder:
    """The encoder for a file; an engine is imported only for files that need it."""
    path = Path(command.path)
    try:
        if not path.is_file():  # a pipe would be waited for
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
        raise Refused(f"{command.dims} dims are declared for it, its vectors have {encoder.width}")
    return encoder


def loaded(encoder: Encoder) -> EncoderLoaded:
    """What the server must know of an encoder."""
    return EncoderLoaded(encoder.width, encoder.max_tokens)


def answer(encoder: Encoder, command: Embed | Fit | Split) -> Embedded | Chunks:
    """Do a command; raises `Refused`."""
    if isinstance(command, Embed):
        if not 1 <= len(command.texts) <= MAX_TEXTS:
            raise Refused(f"1 to {MAX_TEXTS} texts can be embedded at a time")
        return encoder.embed(command.texts)
    from runtime.llm.engine.worker.splitting import chunk, fitted

    if isinstance(command, Split):
        chunks = Chunks(chunk(command.text))
        size = sum(map(len, chunks.texts))
        if size * _MOST_JSON > MAX_HEAD and len(encode(0, chunks)) > MAX_HEAD:
            raise Refused("the document is too long")
        return chunks
    if len(command.texts) > MAX_TEXTS:
        raise Refused(f"{MAX_TEXTS} texts at most can be fitted at a time")
    prefix, longest = command.prefix, encoder.max_tokens
    if encoder.count(prefix) >= longest:
        raise Refused("the model's prefix for documents leaves no room for a text")
    return Chunks(fitted(command.texts, lambda text: encoder.count(prefix + text) <= longest))


def check_longest(tokens: int) -> None:
    """Raise `Refused` for a longest input that no model may have."""
    if not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise Refused(f"the longest input must be {MIN_TOKENS} to {MAX_TOKENS} tokens")


def check_width(width: int) -> None:
    """Raise `Refused` for vectors that no answer could carry."""
    if not 1 <= width <= MAX_WIDTH:
        raise Refused(f"the model gives vectors of {width} numbers, {MAX_WIDTH} at most are usable")
