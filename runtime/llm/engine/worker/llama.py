"""Sentence encoders in GGUF files, computed by llama.cpp, one text after the other.

Several sequences in one batch are no faster than one after the other, and slower for long ones.
"""

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any, Final

from runtime.llm.engine.protocol import Embedded, LoadEncoder
from runtime.llm.engine.worker import native, selftest
from runtime.llm.engine.worker.encoders import NOT_COMPUTED, NOT_FINITE, check_longest, check_width
from runtime.llm.engine.worker.native import C
from runtime.llm.engine.worker.resources import Refused, encoder_threads
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
"""What a file may say, and what is done then; the engine ends the process for anything else."""


class LlamaEncoder:
    """A model with its own tokenizer. Raises `Refused` for a file that is none, or cannot be run.

    Without a *pooling* the file's own is used, and the mean where the file names none.
    """

    def __init__(self, command: LoadEncoder) -> None:
        pooling = command.pooling
        if pooling == "none":
            raise Refused("the model gives a vector a token, so it needs a pooling")
        try:
            header = gguf.read(command.path)
            self.max_tokens = _longest(header, command.max_seq)
            selftest.check_library()
            self._model = native.Model(command.path, 0)
        except (gguf.BadModelFile, native.EngineError) as error:
            raise Refused(str(error)) from error
        self.width = int(C.llama_model_n_embd_out(self._model.handle))
        check_width(self.width)
        self._vocab = C.llama_model_get_vocab(self._model.handle)
        self._ends = {int(C.llama_vocab_eos(self._vocab)), int(C.llama_vocab_sep(self._vocab))}
        kind = _POOLINGS[pooling] if pooling else self._pooling(header.architecture)
        self._context = self._open(command.threads or encoder_threads(), kind)
        self._memory = C.llama_get_memory(self._context)
        self.embed(["a"])  # a file that cannot be computed is told now

    def count(self, text: str) -> int:
        """Tokens of a whole text, special ones counted."""
        return len(self._tokens(text))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors, one text after the other."""
        rows: list[bytes] = []
        counts: list[int] = []
        truncated = 0
        for text in texts:
            tokens = self._tokens(text)
            truncated += len(tokens) > self.max_tokens
            tokens = shortened(tokens, self.max_tokens, self._ends)
            rows.append(self._vector(tokens))
            counts.append(len(tokens))
        return Embedded(self.width, counts, truncated, b"".join(rows))

    def _pooling(self, architecture: str) -> int:
        """The kind of pooling that the file names."""
        key = f"{architecture}.pooling_type".encode()
        value = ctypes.create_string_buffer(32)
        length = C.llama_model_meta_val_str(self._model.handle, key, value, len(value))
        named = value.value.decode("utf-8", "replace") if length > 0 else ""
        if named not in _FILE_POOLINGS:
            raise Refused("the file names a pooling that gives no vectors")
        kind: int = _FILE_POOLINGS[named]
        return kind

    def _open(self, threads: int, pooling: int) -> Any:
        params = C.llama_context_default_params()
        # A text is computed whole, for its tokens look at those behind them.
        params.n_ctx = params.n_batch = params.n_ubatch = self.max_tokens
        params.n_seq_max = 1
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.pooling_type = pooling
        params.no_perf = True
        native.LOG.clear()
        context = C.llama_init_from_model(self._model.handle, params)
        if not context:
            raise Refused("the engine cannot make a context for this model")
        return context

    def _tokens(self, text: str) -> list[int]:
        try:
            tokens = self._model.encode(text, whole=True, markers=True)
        except native.EngineError as error:
            raise Refused(str(error)) from error
        return tokens or [max(int(C.llama_vocab_eos(self._vocab)), 0)]

    def _vector(self, tokens: list[int]) -> bytes:
        """The unit vector of a text that fits the model."""
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
        return unit(numbers[: self.width])


def shortened(tokens: list[int], longest: int, ends: set[int]) -> list[int]:
    """The first tokens, with the special one that ends a text kept if there is one."""
    if len(tokens) <= longest:
        return tokens
    if tokens[-1] in ends:
        return [*tokens[: longest - 1], tokens[-1]]
    return tokens[:longest]


def unit(numbers: Sequence[float]) -> bytes:
    """The vector with length 1; raises `Refused` if any number of its is none."""
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
