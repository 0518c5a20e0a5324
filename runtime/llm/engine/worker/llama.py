"""Sentence encoders in GGUF files, computed by llama.cpp one text after another.

Batches of several sequences are no faster, and slower for long texts.
"""

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any, Final

from runtime.llm.engine.protocol import Embedded, LoadEncoder
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.encoders import NOT_COMPUTED, NOT_FINITE, check_longest, check_width
from runtime.llm.engine.worker.native import C
from runtime.llm.engine.worker.resources import Refused, choose_encoder_threads
from runtime.llm.models import gguf

_DEFAULT_LONGEST: Final = 512
_EPSILON: Final = 1e-12
_MEAN: Final = C.LLAMA_POOLING_TYPE_MEAN
_POOLINGS: Final = {"mean": _MEAN, "cls": C.LLAMA_POOLING_TYPE_CLS}
_FILE_POOLINGS: Final = {
    "": _MEAN,
    str(C.LLAMA_POOLING_TYPE_NONE): _MEAN,
    str(_MEAN): _MEAN,
    str(C.LLAMA_POOLING_TYPE_CLS): C.LLAMA_POOLING_TYPE_CLS,
    str(C.LLAMA_POOLING_TYPE_LAST): C.LLAMA_POOLING_TYPE_LAST,
}
"""Supported poolings of files; the engine aborts the process for any other."""


class LlamaEncoder:
    """A model with its own tokenizer. Raises `Refused` for an invalid or unusable file.

    The default pooling is the file's own, or the mean if the file names none.
    """

    def __init__(self, command: LoadEncoder) -> None:
        pooling = command.pooling
        if pooling == "none":
            raise Refused("the model returns a vector per token, so it needs a pooling")
        try:
            header = gguf.read(command.path)
            self.max_tokens = _longest(header, command.max_seq)
            native.check_library()
            self._model = native.Model(command.path, 0)
        except (gguf.BadModelFile, native.EngineError) as error:
            raise Refused(str(error)) from error
        self.width = int(C.llama_model_n_embd_out(self._model.handle))
        check_width(self.width)
        self._vocab = C.llama_model_get_vocab(self._model.handle)
        self._ends = {int(C.llama_vocab_eos(self._vocab)), int(C.llama_vocab_sep(self._vocab))}
        kind = _POOLINGS[pooling] if pooling else self._read_pooling(header.architecture)
        self._context = self._open_context(command.threads or choose_encoder_threads(), kind)
        self._memory = C.llama_get_memory(self._context)
        self.embed(["a"])  # fails now if the file cannot be computed

    def count(self, text: str) -> int:
        """Count the tokens of a text, including special ones."""
        return len(self._tokenize(text))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed the texts one after another."""
        rows: list[bytes] = []
        counts: list[int] = []
        truncated = 0
        for text in texts:
            tokens = self._tokenize(text)
            truncated += len(tokens) > self.max_tokens
            tokens = cut_tokens(tokens, self.max_tokens, self._ends)
            rows.append(self._compute_vector(tokens))
            counts.append(len(tokens))
        return Embedded(self.width, counts, truncated, b"".join(rows))

    def _read_pooling(self, architecture: str) -> int:
        """Read the kind of pooling that the file declares."""
        key = f"{architecture}.pooling_type".encode()
        value = ctypes.create_string_buffer(32)
        length = C.llama_model_meta_val_str(self._model.handle, key, value, len(value))
        name = value.value.decode("utf-8", "replace") if length > 0 else ""
        if name not in _FILE_POOLINGS:
            raise Refused("the file declares a pooling that returns no vectors")
        kind: int = _FILE_POOLINGS[name]
        return kind

    def _open_context(self, threads: int, pooling: int) -> Any:
        params = C.llama_context_default_params()
        # A text is computed whole, because its tokens attend to later ones.
        params.n_ctx = params.n_batch = params.n_ubatch = self.max_tokens
        params.n_seq_max = 1
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.pooling_type = pooling
        params.no_perf = True
        native.LOG.clear()
        context = C.llama_init_from_model(self._model.handle, params)
        if not context:
            raise Refused("the engine cannot create a context for this model")
        return context

    def _tokenize(self, text: str) -> list[int]:
        try:
            tokens = self._model.encode(text, whole=True, markers=True)
        except native.EngineError as error:
            raise Refused(str(error)) from error
        return tokens or [max(int(C.llama_vocab_eos(self._vocab)), 0)]

    def _compute_vector(self, tokens: list[int]) -> bytes:
        """Compute the unit vector of a text that fits the model."""
        array = (C.llama_token * len(tokens))(*tokens)
        batch = C.llama_batch_get_one(array, len(tokens))
        if self._memory:
            C.llama_memory_clear(self._memory, True)
            code = C.llama_decode(self._context, batch)
        else:
            code = C.llama_encode(self._context, batch)
        numbers = C.llama_get_embeddings_seq(self._context, 0) if code == 0 else None
        if not numbers:
            raise Refused(NOT_COMPUTED)
        return normalise(numbers[: self.width])


def cut_tokens(tokens: list[int], longest: int, ends: set[int]) -> list[int]:
    """The first tokens, keeping the special token that ends the text, if any."""
    if len(tokens) <= longest:
        return tokens
    if tokens[-1] in ends:
        return [*tokens[: longest - 1], tokens[-1]]
    return tokens[:longest]


def normalise(numbers: Sequence[float]) -> bytes:
    """Scale a vector to length 1. Raises `Refused` if a number is not finite."""
    length = math.sqrt(math.fsum(x * x for x in numbers))
    if not math.isfinite(length):
        raise Refused(NOT_FINITE)
    length = max(length, _EPSILON)
    return struct.pack(f"<{len(numbers)}f", *(x / length for x in numbers))


def _longest(header: gguf.Header, declared: int | None) -> int:
    if "t5" in header.architecture:
        raise Refused("this kind of model is not supported")
    longest = declared or min(_DEFAULT_LONGEST, header.context_length)
    check_longest(longest)
    if longest > header.context_length:
        raise Refused(f"the model cannot take inputs of {longest} tokens")
    return longest
