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
from runtime.llm.engine.worker.resources import Refused, encoder_threads
from runtime.llm.models import onnxfile

_DEFAULT_LONGEST: Final = (128, 64, 32, 16, 8)  # the first that the model's positions can take
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
"""What ONNX Runtime raises; its classes have no common one of their own."""
MAX_VOCABULARY: Final = 5 << 20
"""Bytes of a vocabulary file."""
MAX_WORD: Final = 100
"""Characters of a word; a longer one is unknown."""
_CLS, _SEP, _UNK, _PAD, _MASK_TOKEN = "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"
_NEEDED: Final = (_PAD, _UNK, _CLS, _SEP)

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Tokens(NamedTuple):
    """The ids of a text as the model sees it."""

    ids: list[int]
    cut: bool


def read_vocabulary(path: str) -> dict[str, int]:
    """The ids by token: a line's number is its id, and of two equal lines the later one counts.

    Raises `Refused` for a file that is too large, no UTF-8, or lacks a special token.
    """
    try:
        if not Path(path).is_file():  # a pipe would be waited for
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
    """Texts to ids for an uncased BERT."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._separator = vocabulary[_SEP]
        self.padding = vocabulary[_PAD]
        self.unknown = vocabulary[_UNK]
        self.highest = max(vocabulary.values())
        """The highest id that a text can get."""
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

    def ids(self, text: str) -> list[int]:
        """All ids of a text between [CLS] and [SEP]; a blank one has just these two."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def cut(self, text: str, longest: int) -> Tokens:
        """The first ids of a text, at most *longest*, and [SEP] behind them."""
        ids = self.ids(text)
        if len(ids) <= longest:
            return Tokens(ids, cut=False)
        return Tokens([*ids[: longest - 1], self._separator], cut=True)


class OnnxEncoder:
    """A model and its tokenizer. Raises `Refused` for a file that is none, or cannot be run."""

    def __init__(self, command: LoadEncoder) -> None:
        if command.vocab is None:
            raise Refused("an ONNX model needs a vocabulary file beside it")
        self._words = words = WordPieces(read_vocabulary(command.vocab))
        self._pooling = command.pooling or "mean"
        self._session = _session(command.path, command.threads or encoder_threads())
        self._inputs = _inputs(self._session)
        self._output = _output(self._session)
        if command.max_seq is not None:
            check_longest(command.max_seq)
        self.width = self._probe([words.unknown], "the model cannot be run")
        check_width(self.width)
        self._probe([words.highest], "the vocabulary has more tokens than the model")
        self._refuse_short(words.highest + 1)
        self.max_tokens = self._longest(command.max_seq)

    def count(self, text: str) -> int:
        """Tokens of a whole text, special ones counted."""
        return len(self._words.ids(text))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors, all computed at once and padded to the longest text."""
        batch = [self._words.cut(text, self.max_tokens) for text in texts]
        data = self._vectors(batch).astype("<f4", copy=False).tobytes()
        counts = [len(tokens.ids) for tokens in batch]
        return Embedded(self.width, counts, sum(tokens.cut for tokens in batch), data)

    def _longest(self, declared: int | None) -> int:
        for length in _DEFAULT_LONGEST if declared is None else (declared,):
            try:
                self._probe([self._words.unknown] * (length - 2), "")
            except Refused:
                continue
            return length
        least = _DEFAULT_LONGEST[-1] if declared is None else declared
        raise Refused(f"the model cannot take inputs of {least} tokens")

    def _refuse_short(self, tokens: int) -> None:
        """Refuse a vocabulary that lacks much of what the model knows: most words would be unknown.

        A model may have rows that no token uses: the table is rounded up for speed, mostly to 64
        or 128 rows, in large models to 1,024. So up to the next 128, or a twentieth more, is fine.
        """
        unused = max(-(-tokens // _ROUNDED) * _ROUNDED, tokens + tokens // 20)
        try:
            self._probe([unused], NOT_COMPUTED)
        except Refused as error:
            if str(error) == NOT_COMPUTED:
                return
        raise Refused("the vocabulary has far fewer tokens than the model")

    def _probe(self, ids: list[int], reason: str) -> int:
        """Run the model on ids between the special tokens and answer the width."""
        first, last = self._words.ids("")
        try:
            states, _ = self._run([Tokens([first, *ids, last], cut=False)])
        except Refused as error:
            raise Refused(reason if str(error) == NOT_COMPUTED else str(error)) from error
        return int(states.shape[-1])

    def _vectors(self, batch: Sequence[Tokens]) -> Floats:
        states, mask = self._run(batch)
        if states.shape[-1] != self.width:
            raise Refused("the model gives vectors of different widths")
        return unit(pooled(states, mask, self._pooling))

    def _run(self, batch: Sequence[Tokens]) -> tuple[Floats, Ints]:
        """The first output as (batch, width) or (batch, seq, width), and the mask."""
        shape = len(batch), max(len(tokens.ids) for tokens in batch)
        ids = np.full(shape, self._words.padding, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens.ids)] = tokens.ids
            mask[row, : len(tokens.ids)] = 1
        feeds = {_IDS: ids, _MASK: mask, _TYPES: np.zeros(shape, np.int64)}
        given = {name: feeds[name] for name in self._inputs}
        try:
            (output,) = self._session.run([self._output], given)
        except MemoryError:
            raise Refused("not enough memory for inputs of this length") from None
        except _FAULTS as error:
            raise Refused(NOT_COMPUTED) from error
        states = np.asarray(output, np.float32)
        if states.shape[:-1] not in (shape, shape[:1]):
            raise Refused("the first output is neither a vector a token nor a vector a text")
        if states.ndim > 2 and self._pooling == "none":
            raise Refused("the model gives a vector a token, so it needs a pooling")
        return states, mask


def pooled(states: Floats, mask: Ints, pooling: str) -> Floats:
    """One vector a text; a model that gives just that has pooled already."""
    if states.ndim == 2:
        return states
    if pooling == "cls":
        return states[:, 0]
    weights = mask.astype(np.float32)[:, None, :]
    means: Floats = (weights @ states)[:, 0] / weights.sum(axis=2)
    return means


def unit(rows: Floats) -> Floats:
    """The vectors with length 1; raises `Refused` if any number of theirs is none."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(lengths).all():
        raise Refused(NOT_FINITE)
    units: Floats = (rows / np.maximum(lengths, _EPSILON)[:, None]).astype(np.float32)
    return units


def _session(path: str, threads: int) -> onnxruntime.InferenceSession:
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
    options.enable_mem_pattern = False  # plans are kept for each length that ever came
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise Refused("not enough memory for this model") from None
    except _FAULTS as error:
        raise Refused("the engine cannot read this model") from error


def _inputs(session: onnxruntime.InferenceSession) -> list[str]:
    inputs: list[Any] = session.get_inputs()
    for value in inputs:
        name = _short(value.name)
        if value.name not in (_IDS, _MASK, _TYPES):
            raise Refused(f"the model needs an input that no text has: {name}")
        if value.type != "tensor(int64)":
            raise Refused(f"the input {name} is not of type int64")
        if len(value.shape) != 2 or any(isinstance(size, int) for size in value.shape):
            raise Refused(f"the input {name} does not take any number of texts of any length")
    names: list[str] = [value.name for value in inputs]
    if _IDS not in names:
        raise Refused(f"the model has no input {_IDS}")
    return names


def _output(session: onnxruntime.InferenceSession) -> str:
    first = session.get_outputs()[0]
    if first.type not in _OUTPUTS:
        raise Refused(f"the output {_short(first.name)} holds no floating-point numbers")
    name: str = first.name
    return name


def _short(name: str) -> str:
    """A name from a file, as part of a line."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
