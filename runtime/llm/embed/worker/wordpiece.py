"""WordPiece by the reference rules, from a vocabulary file of one token a line."""

from pathlib import Path
from typing import Final, NamedTuple

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing

from runtime.llm.embed.worker.encoding import Refused

MAX_BYTES: Final = 5 << 20
"""Of a vocabulary file."""
MAX_WORD: Final = 100
"""Characters of a word; a longer one is unknown."""
_CLS, _SEP, _UNK, _PAD, _MASK = "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"
_NEEDED: Final = (_PAD, _UNK, _CLS, _SEP)


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
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        raise Refused("the vocabulary cannot be read") from None
    if len(data) > MAX_BYTES:
        raise Refused(f"the vocabulary is larger than {MAX_BYTES >> 20} MiB")
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise Refused("the vocabulary is no UTF-8 text") from None
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
        specials = [token for token in (*_NEEDED, _MASK) if token in vocabulary]
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
