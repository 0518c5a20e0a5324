"""Sentence encoders in ONNX files: WordPiece by the reference rules, ONNX Runtime on the CPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
from onnxruntime.capi import (  # type: ignore[import-untyped]
    onnxruntime_pybind11_state as _state,
)
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from runtime.llm.engine.protocol import Embedded, LoadEncoder
from runtime.llm.engine.worker.encoders import NOT_COMPUTED, NOT_FINITE, check_longest, check_width
from runtime.llm.engine.worker.resources import Refused, choose_encoder_threads
from runtime.llm.models import onnxfile

_DEFAULT_LONGEST: Final = (128, 64, 32, 16, 8)  # the first that the model's positions allow
_ROUNDED: Final = 128
_EPSILON: Final = 1e-12
_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"
_OUTPUTS: Final = ("tensor(float)", "tensor(float16)", "tensor(double)")
_FATAL: Final = 4
_FAULTS: Final[tuple[type[Exception], ...]] = (
    RuntimeError,
    ValueError,
    *(
        kind
        for kind in vars(_state).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ),
)
"""The exceptions of ONNX Runtime, which have no common base class."""
MAX_VOCABULARY: Final = 5 << 20
"""Maximum bytes of a vocabulary file."""
MAX_WORD: Final = 100
"""Maximum characters of a word; longer ones are unknown tokens."""
_CLS, _SEP, _UNK, _PAD, _MASK_TOKEN = "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"
_NEEDED: Final = (_PAD, _UNK, _CLS, _SEP)

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Tokens(NamedTuple):
    """The ids of a text as given to the model."""

    ids: list[int]
    cut: bool


def read_vocabulary(path: str) -> dict[str, int]:
    """Read the ids by token: a line's number is its id, and the last of equal lines counts.

    Raises `Refused` for a file that is too large, not UTF-8, or lacks a special token.
    """
    try:
        if not Path(path).is_file():  # opening a pipe would block
            raise Refused("the vocabulary cannot be read")
        with Path(path).open("rb") as file:
            data = file.read(MAX_VOCABULARY + 1)
    except (OSError, ValueError):
        raise Refused("the vocabulary cannot be read") from None
    if len(data) > MAX_VOCABULARY:
        raise Refused(f"the vocabulary is larger than {MAX_VOCABULARY >> 20} MiB")
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise Refused("the vocabulary is not UTF-8 text") from None
    if not lines[-1]:
        lines.pop()
    vocabulary = {line.rstrip(): number for number, line in enumerate(lines)}
    for token in _NEEDED:
        if token not in vocabulary:
            raise Refused(f"the vocabulary lacks the special token {token}")
    return vocabulary


class WordPieces:
    """Tokenizes texts for an uncased BERT."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._separator = vocabulary[_SEP]
        self.padding = vocabulary[_PAD]
        self.unknown = vocabulary[_UNK]
        self.highest = max(vocabulary.values())
        """The highest id that a text can contain."""
        model = WordPiece(vocabulary, unk_token=_UNK, max_input_chars_per_word=MAX_WORD)
        self._tokenizer = Tokenizer(model)
        self._tokenizer.normalizer = BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
        )
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._tokenizer.post_processor = BertProcessing(
            (_SEP, vocabulary[_SEP]), (_CLS, vocabulary[_CLS])
        )
        specials = [token for token in (*_NEEDED, _MASK_TOKEN) if token in vocabulary]
        self._tokenizer.add_special_tokens(specials)

    def encode(self, text: str) -> list[int]:
        """Convert a text to ids between [CLS] and [SEP]; a blank text has only these two."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def cut(self, text: str, longest: int) -> Tokens:
        """Convert a text to at most *longest* ids, ending with [SEP]."""
        ids = self.encode(text)
        if len(ids) <= longest:
            return Tokens(ids, cut=False)
        return Tokens([*ids[: longest - 1], self._separator], cut=True)


class OnnxEncoder:
    """A model and its tokenizer. Raises `Refused` for an invalid or unusable file."""

    def __init__(self, command: LoadEncoder) -> None:
        if command.vocab is None:
            raise Refused("an ONNX model needs a vocabulary file next to it")
        self._words = words = WordPieces(read_vocabulary(command.vocab))
        self._pooling = command.pooling or "mean"
        self._session = _open_session(command.path, command.threads or choose_encoder_threads())
        self._inputs = _check_inputs(self._session)
        self._output = _check_output(self._session)
        if command.max_seq is not None:
            check_longest(command.max_seq)
        self.width = self._probe([words.unknown], "the model cannot be run")
        check_width(self.width)
        self._probe([words.highest], "the vocabulary has more tokens than the model")
        self._refuse_short(words.highest + 1)
        self.max_tokens = self._find_longest(command.max_seq)

    def count(self, text: str) -> int:
        """Count the tokens of a text, including special ones."""
        return len(self._words.encode(text))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed all texts at once, padded to the longest one."""
        batch = [self._words.cut(text, self.max_tokens) for text in texts]
        data = self._embed_tokens(batch).astype("<f4", copy=False).tobytes()
        counts = [len(tokens.ids) for tokens in batch]
        return Embedded(self.width, counts, sum(tokens.cut for tokens in batch), data)

    def _find_longest(self, declared: int | None) -> int:
        for length in _DEFAULT_LONGEST if declared is None else (declared,):
            try:
                self._probe([self._words.unknown] * (length - 2), "")
            except Refused:
                continue
            return length
        least = _DEFAULT_LONGEST[-1] if declared is None else declared
        raise Refused(f"the model cannot take inputs of {least} tokens")

    def _refuse_short(self, tokens: int) -> None:
        """Refuse a vocabulary much smaller than the model's: most words would be unknown.

        A model may have unused rows: the table is rounded up for speed, mostly to 64 or 128 rows,
        in large models to 1,024. So up to the next multiple of 128, or 5 % more, is accepted.
        """
        unused = max(-(-tokens // _ROUNDED) * _ROUNDED, tokens + tokens // 20)
        try:
            self._probe([unused], NOT_COMPUTED)
        except Refused as error:
            if str(error) == NOT_COMPUTED:
                return
        raise Refused("the vocabulary has far fewer tokens than the model")

    def _probe(self, ids: list[int], reason: str) -> int:
        """Run the model on ids between the special tokens and return the width."""
        first, last = self._words.encode("")
        try:
            states, _ = self._run([Tokens([first, *ids, last], cut=False)])
        except Refused as error:
            raise Refused(reason if str(error) == NOT_COMPUTED else str(error)) from error
        return int(states.shape[-1])

    def _embed_tokens(self, batch: Sequence[Tokens]) -> Floats:
        states, mask = self._run(batch)
        if states.shape[-1] != self.width:
            raise Refused("the model returns vectors of different widths")
        return normalise(pool(states, mask, self._pooling))

    def _run(self, batch: Sequence[Tokens]) -> tuple[Floats, Ints]:
        """Run the model; return its output, (batch, width) or (batch, seq, width), and the mask."""
        shape = len(batch), max(len(tokens.ids) for tokens in batch)
        ids = np.full(shape, self._words.padding, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens.ids)] = tokens.ids
            mask[row, : len(tokens.ids)] = 1
        feeds = {_IDS: ids, _MASK: mask, _TYPES: np.zeros(shape, np.int64)}
        inputs = {name: feeds[name] for name in self._inputs}
        try:
            (output,) = self._session.run([self._output], inputs)
        except MemoryError:
            raise Refused("not enough memory for inputs of this length") from None
        except _FAULTS as error:
            raise Refused(NOT_COMPUTED) from error
        states = np.asarray(output, np.float32)
        if states.shape[:-1] not in (shape, shape[:1]):
            raise Refused("the first output is neither a vector per token nor a vector per text")
        if states.ndim > 2 and self._pooling == "none":
            raise Refused("the model returns a vector per token, so it needs a pooling")
        return states, mask


def pool(states: Floats, mask: Ints, pooling: str) -> Floats:
    """Reduce to one vector per text, unless the model has already pooled."""
    if states.ndim == 2:
        return states
    if pooling == "cls":
        return states[:, 0]
    weights = mask.astype(np.float32)[:, None, :]
    means: Floats = (weights @ states)[:, 0] / weights.sum(axis=2)
    return means


def normalise(rows: Floats) -> Floats:
    """Scale the vectors to length 1. Raises `Refused` if a number is not finite."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        raise Refused(NOT_FINITE)
    units: Floats = (rows / np.maximum(lengths, _EPSILON)[:, None]).astype(np.float32)
    return units


def _open_session(path: str, threads: int) -> onnxruntime.InferenceSession:
    try:
        onnxfile.check(path)
    except onnxfile.BadOnnxFile as error:
        raise Refused(str(error)) from error
    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = max(threads, 1)
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False  # it keeps a plan for every length that ever occurs
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise Refused("not enough memory for this model") from None
    except _FAULTS as error:
        raise Refused("the engine cannot read this model") from error


def _check_inputs(session: onnxruntime.InferenceSession) -> list[str]:
    inputs: list[Any] = session.get_inputs()
    for value in inputs:
        name = _shorten(value.name)
        if value.name not in (_IDS, _MASK, _TYPES):
            raise Refused(f"the model needs an unknown input: {name}")
        if value.type != "tensor(int64)":
            raise Refused(f"the input {name} is not of type int64")
        if len(value.shape) != 2 or any(isinstance(size, int) for size in value.shape):
            raise Refused(f"the input {name} does not accept any number of texts of any length")
    names: list[str] = [value.name for value in inputs]
    if _IDS not in names:
        raise Refused(f"the model has no input {_IDS}")
    return names


def _check_output(session: onnxruntime.InferenceSession) -> str:
    first = session.get_outputs()[0]
    if first.type not in _OUTPUTS:
        raise Refused(f"the output {_shorten(first.name)} does not contain floating-point numbers")
    name: str = first.name
    return name


def _shorten(name: str) -> str:
    """A name from a file, printable and cut to 40 characters."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
