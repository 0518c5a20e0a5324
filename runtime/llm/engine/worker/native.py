"""The only access to llama.cpp: thin typed classes that keep alive what C points to."""

import ctypes
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from runtime.llm.engine.worker import library
from runtime.llm.inference import GREEDY, Sampling, TokenLogprob
from runtime.llm.replies import MARKS

if TYPE_CHECKING:  # loaded with the first grammar
    from runtime.llm.engine.worker.constraint import Constraint

os.environ["GGML_NO_BACKTRACE"] = "1"  # otherwise an abort in C first attaches a debugger
C, LIBRARY = library.load()

DECODED: Final = 0
NO_ROOM: Final = 1
ABORTED: Final = 2
BATCH: Final = 512
_COLDEST: Final = 1e-6
_PENALTY_TOKENS: Final = 1 << 16  # how many last tokens of a reply penalties consider
_TOP_K_CAP: Final = 1000  # without a top-k, sampling from 152 k tokens takes 1.8 ms each
_WARN, _ERROR, _CONTINUED = 3, 4, 5


Logits = ctypes.Array[ctypes.c_float]
"""One number per token, in the engine's memory."""


class EngineError(Exception):
    """llama.cpp reported an error; the text is for a client."""


class _Log:
    """The last warnings of llama.cpp, to explain failures."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=20)
        self._level = 0
        self.callback = C.llama_log_callback(self._write)

    def _write(self, level: int, text: bytes | None, _data: object) -> None:
        if level != _CONTINUED:
            self._level = level
        if self._level in (_WARN, _ERROR) and text:
            self._lines.append(text.decode("utf-8", "replace").strip())

    def clear(self) -> None:
        self._lines.clear()

    def explain(self, otherwise: str) -> str:
        """The first error since `clear`, without function names and paths."""
        for line in self._lines:
            marked = re.search(r"error loading model:? *(.*)", line)
            if marked and marked[1] and "failed to load model" not in marked[1]:
                return sanitise(marked[1])
        return sanitise(self._lines[0].partition(": ")[2]) if self._lines else otherwise


def sanitise(text: str) -> str:
    """Make a log line fit for a client: without paths and at most 200 characters."""
    text = re.sub(r"(?:[A-Za-z]:)?[\\/][^\s'\",:]*", "the file", text)
    return " ".join(text.split())[:200]


LOG: Final = _Log()
C.llama_log_set(LOG.callback, None)
C.llama_backend_init()


def supports_gpu() -> bool:
    """Whether this build supports layers on a GPU."""
    return bool(C.llama_supports_gpu_offload())


def list_devices() -> list[str]:
    """Devices that this build can compute on, such as `CPU: …`, `CUDA0: NVIDIA H100`."""
    ggml = C._lib  # noqa: SLF001 - llama-cpp-python does not declare ggml
    try:
        device, name, about = (
            ggml.ggml_backend_dev_get,
            ggml.ggml_backend_dev_name,
            ggml.ggml_backend_dev_description,
        )
        count = int(ggml.ggml_backend_dev_count())
    except AttributeError:  # on Windows a library exports only its own functions
        return []
    device.argtypes, device.restype = [ctypes.c_size_t], ctypes.c_void_p
    name.argtypes = about.argtypes = [ctypes.c_void_p]
    name.restype = about.restype = ctypes.c_char_p
    handles = [device(at) for at in range(count)]
    texts = [f"{name(handle).decode()}: {about(handle).decode()}" for handle in handles]
    return [" ".join(text.split()) for text in texts]


class Wanted:
    """The wanted replies, by their jobs; usable from any thread.

    Cancelling one stops a running decode: C polls a byte through `strlen`, without Python. The
    second byte stays 0.
    """

    def __init__(self) -> None:
        self._jobs: set[int] = set()
        self._bytes = ctypes.create_string_buffer(2)
        self._libc = ctypes.CDLL(None if os.name == "posix" else "msvcrt")
        self.callback = ctypes.cast(self._libc.strlen, C.ggml_abort_callback)
        self.address = ctypes.addressof(self._bytes)

    def __contains__(self, job: int) -> bool:
        return job in self._jobs

    def begin(self, job: int) -> None:
        """Mark a reply as wanted."""
        self._jobs.add(job)

    def end(self, job: int) -> None:
        """Mark a reply as ended."""
        self._jobs.discard(job)

    def cancel(self, job: int) -> bool:
        """Cancel a reply; return False if it is not wanted or has ended."""
        if job not in self._jobs:
            return False
        self._jobs.discard(job)
        self._bytes[0] = b"\1"
        return True

    @property
    def interrupted(self) -> bool:
        """Whether decodes are being stopped."""
        return self._bytes[0] != b"\0"

    def go_on(self) -> None:
        """Allow decodes again; must be called before checking which replies are wanted."""
        self._bytes[0] = b"\0"


class Model:
    """The weights and vocabulary of a file."""

    def __init__(self, path: str, gpu_layers: int) -> None:
        params = C.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        if b"AMX_INT8 = 1" in C.llama_print_system_info():
            # GCC drops stores to the tile configuration that its intrinsic reads, so a decode
            # in AMX buffers would crash the process
            params.use_extra_bufts = False
        LOG.clear()
        self.handle = C.llama_model_load_from_file(path.encode(), params)
        if not self.handle:
            raise EngineError(LOG.explain("the engine cannot read this file"))
        if C.llama_model_has_encoder(self.handle) or C.llama_model_is_diffusion(self.handle):
            raise EngineError("this kind of model cannot continue a text")
        layers = int(C.llama_model_n_layer(self.handle)) + 1  # the output counts as one
        self.gpu_layers = (
            0 if not supports_gpu() else layers if gpu_layers < 0 else min(gpu_layers, layers)
        )
        self._vocab = C.llama_model_get_vocab(self.handle)
        self.n_vocab = int(C.llama_vocab_n_tokens(self._vocab))
        self._add_bos = bool(C.llama_vocab_get_add_bos(self._vocab))
        self._bos = int(C.llama_vocab_bos(self._vocab))
        self._eos = int(C.llama_vocab_eos(self._vocab))
        self._pieces: dict[int, bytes | None] = {}

    @property
    def special_texts(self) -> tuple[str, str]:
        """Texts of the begin and end tokens; empty if the vocabulary has none."""
        return self.text(self._bos), self.text(self._eos)

    def text(self, token: int) -> str:
        """The text of a token in the vocabulary."""
        if not 0 <= token < self.n_vocab:
            return ""
        text: bytes = C.llama_vocab_get_text(self._vocab, token) or b""
        return text.decode("utf-8", "replace")

    def control_texts(self) -> list[str]:
        """List the texts of all control tokens."""
        return [self.text(token) for token in range(self.n_vocab) if self._is_control(token)]

    def _is_control(self, token: int) -> bool:
        return bool(C.llama_vocab_get_attr(self._vocab, token) & C.LLAMA_TOKEN_ATTR_CONTROL)

    def tokenize_quoted(self, text: str) -> list[int]:
        """Tokenize *text* without producing any control token."""
        tokens = self.tokenize(text, markers=False)
        if any(self._is_control(token) for token in tokens):  # produced by merges
            ids = (id_ for letter in text for id_ in self.tokenize(letter, markers=False))
            tokens = [token for token in ids if not self._is_control(token)]
        return tokens

    def tokenize(self, text: str, *, whole: bool = False, markers: bool = True) -> list[int]:
        """Tokenize a text; with *markers*, texts of control tokens become control tokens.

        *whole* adds the begin token if the vocabulary requires it.
        """
        tokens = self.encode(text, whole=False, markers=markers)
        if whole and self._add_bos and self._bos >= 0 and tokens[:1] != [self._bos]:
            tokens.insert(0, self._bos)
        return tokens

    def encode(self, text: str, *, whole: bool, markers: bool) -> list[int]:
        """Tokenize a text; *whole* adds the special tokens that the vocabulary puts around it."""
        data = text.encode("utf-8", "replace")
        size = len(data) + 8
        while True:
            out = (C.llama_token * size)()
            n = int(C.llama_tokenize(self._vocab, data, len(data), out, size, whole, markers))
            if n >= 0:
                return list(out[:n])
            if -n <= size:
                raise EngineError("the text is too long for the tokenizer")
            size = -n

    def piece(self, token: int) -> bytes | None:
        """The bytes of a token; None for a token that ends the generation."""
        try:
            return self._pieces[token]
        except KeyError:
            data = None if C.llama_vocab_is_eog(self._vocab, token) else self._read_piece(token)
            self._pieces[token] = data
            return data

    def _read_piece(self, token: int) -> bytes:
        size = 64
        is_shown = self.text(token) in MARKS
        while True:
            out = ctypes.create_string_buffer(size)
            n = C.llama_token_to_piece(self._vocab, token, out, size, 0, is_shown)
            if n >= 0:
                return out.raw[:n]
            size = -n


class Threads(NamedTuple):
    """Numbers of computing threads."""

    single: int
    """For a step of one token."""
    several: int
    """For a step of several tokens, as in reading a prompt."""


class Slice(NamedTuple):
    """Consecutive tokens of a sequence that are computed in one step."""

    tokens: Sequence[int]
    start: int
    """Position of the first token."""
    sequence: int
    last: bool
    """Whether the next token is to be sampled."""


class Context:
    """KV cache and compute buffers over a model; one thread at a time may use it."""

    def __init__(
        self,
        model: Model,
        cells: int,
        threads: Threads,
        *,
        sequences: int = 1,
        wanted: Wanted | None = None,
    ) -> None:
        params = C.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = params.n_ubatch = self.n_batch = min(BATCH, cells)
        params.n_seq_max = sequences
        params.n_outputs_max = sequences  # not one per token: saves 300 MB at 152 k tokens
        params.n_threads, params.n_threads_batch = threads
        params.kv_unified = True
        params.swa_full = True  # otherwise the window discards what a later turn needs
        params.no_perf = True
        if wanted is not None:
            params.abort_callback = wanted.callback
            params.abort_callback_data = wanted.address
        self._wanted = wanted  # C points to it
        self.sequences = sequences
        LOG.clear()
        self.handle = C.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise EngineError("the engine cannot create a context")
        self.model = model  # C points to it
        self._memory = C.llama_get_memory(self.handle)
        self._make_batch()

    def _make_batch(self) -> None:
        n = self.n_batch
        self._tokens = (C.llama_token * n)()
        self._positions = (C.llama_pos * n)()
        self._counts = (ctypes.c_int32 * n)(*([1] * n))
        self._sequences = (C.llama_seq_id * n)()
        size, first = ctypes.sizeof(C.llama_seq_id), ctypes.addressof(self._sequences)
        pointer = ctypes.POINTER(C.llama_seq_id)
        self._pointers = (pointer * n)(
            *(ctypes.cast(first + at * size, pointer) for at in range(n))
        )
        self._outputs = (ctypes.c_int8 * n)()
        self._batch = C.llama_batch()
        self._batch.token = self._tokens
        self._batch.pos = self._positions
        self._batch.n_seq_id = self._counts
        self._batch.seq_id = self._pointers
        self._batch.logits = self._outputs

    def logits(self, index: int) -> Logits:
        """The logits of all tokens for an output of the last decode, in the engine's memory."""
        values = C.llama_get_logits_ith(self.handle, index)
        return (ctypes.c_float * self.model.n_vocab).from_address(
            ctypes.cast(values, ctypes.c_void_p).value or 0
        )

    def set_threads(self, threads: Threads) -> None:
        """Set the numbers of computing threads."""
        C.llama_set_n_threads(self.handle, *threads)

    def decode(self, slices: Sequence[Slice]) -> int:
        """Compute at most `n_batch` tokens together.

        Returns DECODED, NO_ROOM, ABORTED, or a negative number after a failure. After any result
        but DECODED, some of the tokens may be in the memory.
        """
        at = 0
        for tokens, start, sequence, last in slices:
            end = at + len(tokens)
            self._tokens[at:end] = tokens
            self._positions[at:end] = range(start, start + len(tokens))
            self._sequences[at:end] = [sequence] * len(tokens)
            self._outputs[at:end] = [0] * len(tokens)
            self._outputs[end - 1] = last
            at = end
        self._batch.n_tokens = at
        code: int = C.llama_decode(self.handle, self._batch)
        return code

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy a prefix to another sequence; the cells are shared.

        A recurrent memory copies everything; `trim` tells whether it can be cut to the length.
        """
        C.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def trim(self, sequence: int, length: int) -> bool:
        """Discard all but the first *length* tokens; return False if this memory cannot."""
        return bool(C.llama_memory_seq_rm(self._memory, sequence, length, -1))

    def clear(self, sequence: int) -> None:
        """Discard a sequence."""
        C.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def clear_all(self) -> None:
        """Discard all sequences."""
        C.llama_memory_clear(self._memory, False)

    def free(self) -> None:
        """Free the memory; the object is unusable afterwards."""
        if self.handle:
            C.llama_free(self.handle)
            self.handle = None


class Sampler:
    """A chain of llama.cpp samplers: biases, penalties, then the choice of a token.

    It is greedy at temperature 0, else applies top-k, min-p, top-p and temperature before the
    random choice. A temperature below 1e-6 counts as 0, because logits divided by it are infinite.
    A sampler serves one reply, whose tokens count for the penalties and its *rule*.
    """

    def __init__(self, sampling: Sampling, model: Model, rule: "Constraint | None" = None) -> None:
        self._model = model
        self._rule = rule
        self._alternatives = sampling.logprobs
        self.logprobs: list[TokenLogprob] = []
        """Log-probabilities of the tokens so far, if requested."""
        self._chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        for part in (
            *self._make_logit_samplers(sampling, model),
            *self._make_choice_samplers(sampling),
        ):
            C.llama_sampler_chain_add(self._chain, part)

    @staticmethod
    def _make_logit_samplers(sampling: Sampling, model: Model) -> Iterator[object]:
        """Make the samplers for biases and penalties."""
        biases = [
            C.llama_logit_bias(int(token), bias)
            for token, bias in sampling.logit_bias.items()
            if int(token) < model.n_vocab
        ]
        if biases:
            table = (C.llama_logit_bias * len(biases))(*biases)  # copied by the sampler
            yield C.llama_sampler_init_logit_bias(model.n_vocab, len(biases), table)
        penalties = sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty
        if penalties != (1, 0, 0):
            yield C.llama_sampler_init_penalties(model.n_vocab, _PENALTY_TOKENS, *penalties)

    @staticmethod
    def _make_choice_samplers(sampling: Sampling) -> list[object]:
        if sampling.temperature < _COLDEST:
            return [C.llama_sampler_init_greedy()]
        top_k = min(sampling.top_k, _TOP_K_CAP) if sampling.top_k > 0 else _TOP_K_CAP
        return [
            C.llama_sampler_init_top_k(top_k),
            *([C.llama_sampler_init_min_p(sampling.min_p, 1)] if sampling.min_p > 0 else []),
            C.llama_sampler_init_top_p(sampling.top_p, 1),
            C.llama_sampler_init_temp(sampling.temperature),
            C.llama_sampler_init_dist(sampling.seed),
        ]

    def sample(self, context: Context, index: int = -1) -> int:
        """Sample a token from an output of the last decode: *index* in its batch, -1: the last."""
        if self._rule is None and self._alternatives is None:
            return int(C.llama_sampler_sample(self._chain, context.handle, index))
        logits = context.logits(index)
        raw = None if self._alternatives is None else bytes(logits)
        if self._rule is not None:
            self._rule.mask(logits)
        token = int(C.llama_sampler_sample(self._chain, context.handle, index))
        if self._rule is not None:
            self._rule.accept(token, self._model.piece(token))
        if raw is not None:
            self._record(token, raw)
        return token

    def _record(self, token: int, logits: bytes) -> None:
        """Record the log-probabilities of the token and of the likeliest ones at its position."""
        from runtime.llm.engine.worker.logprobs import Logprobs

        logprobs = Logprobs(logits)

        def describe(token: int, top: Sequence[TokenLogprob] = ()) -> TokenLogprob:
            data = self._model.piece(token) or self._model.text(token).encode()
            text = data.decode("utf-8", "replace")
            return TokenLogprob(text, list(data), logprobs.of(token), top)

        top = [describe(other) for other in logprobs.rank(self._alternatives or 0)]
        self.logprobs.append(describe(token, top))

    def free(self) -> None:
        """Free the chain; the object is unusable afterwards."""
        if self._chain:
            C.llama_sampler_free(self._chain)
            self._chain = None


# --- the self-test

TINY_MODEL: Final = Path(__file__).with_name("selftest.gguf")
"""A model of 230 KB that answers the prompt with the expected words by a wide margin."""
PROMPT: Final = "<red>"
EXPECTED: Final = "one two three four five six seven eight "
_FAILED: Final = f"the engine's library ({LIBRARY}) fails its self-test; reinstall it"


def check_library() -> None:
    """Compute eight tokens of a tiny model. Raises `EngineError` if they are wrong."""
    model = Model(str(TINY_MODEL), 0)
    context = Context(model, 64, Threads(1, 1))
    sampler = Sampler(GREEDY, model)
    try:
        tokens = model.tokenize(PROMPT)
        text, at = b"", 0
        for _ in range(EXPECTED.count(" ") + 1):
            if context.decode([Slice(tokens, at, 0, last=True)]) != DECODED:
                break
            at += len(tokens)
            tokens = [sampler.sample(context)]
            piece = model.piece(tokens[0])
            if piece is None:
                break
            text += piece
    finally:
        sampler.free()
        context.free()
    if text.decode("utf-8", "replace") != EXPECTED:
        raise EngineError(_FAILED)
