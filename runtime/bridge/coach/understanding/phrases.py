"""Phrases written in YAML, and the patterns that find them in a sentence.

A phrase is a sequence of words, in lower case and without accents:

    smok*            any word with this beginning
    (soft|very long) one of these
    <brake>          one of a class of words
    <very>?          optional
    ..               up to seven words
    a + b            both, in either order, up to seven words apart
    ^ $              the sentence begins or ends here
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import yaml

Pattern: TypeAlias = re.Pattern[str]
Classes: TypeAlias = Mapping[str, Iterable[str]]

CONTRACTED: Final = re.compile(r"['\u2019](?=(?:t|s|m|re|ve|ll|d)\b)")
_NONE: Final[Classes] = MappingProxyType({})
_GAP: Final = r"(?:[^ ]+ ){0,7}?"
_SENTENCE: Final = re.compile(r"[.!?;:\n]+(?!\d)")
_WORD: Final = re.compile(r"[^\W_]+")
_TOKEN: Final = re.compile(r"<\w+>|\.\.|[()|^$?]|[^\s()|?]+")
_SIGNS: Final = {
    "..": _GAP,
    "^": r"(?<=\A )",
    "$": r"\Z",
    "(": "(?:",
    "|": "|",
    ")": ")",
    "?": "?",
}


def strip_accents(text: str) -> str:
    """Return the text in lower case without accents."""
    parts = unicodedata.normalize("NFD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences of plain words, each with a space on both sides."""
    plain = CONTRACTED.sub("", strip_accents(text))
    words = (_WORD.findall(sentence) for sentence in _SENTENCE.split(plain))
    return [f" {' '.join(sentence)} " for sentence in words if sentence]


def read_yaml(path: Path) -> dict[str, Any]:
    """Read the words or phrases of a file."""
    read: dict[str, Any] = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return read


def read_classes(data: Mapping[str, str]) -> Classes:
    """Read classes of words, written as lists with commas."""
    return {
        name: tuple(entry.strip() for entry in entries.split(",")) for name, entries in data.items()
    }


def compile_phrases(phrases: Iterable[str], classes: Classes = _NONE) -> Pattern:
    """Compile one pattern of all phrases, for the sentences of `split_sentences`."""
    orders = []
    for phrase in phrases:
        first, _, second = phrase.partition(" + ")
        a, b = _pattern(first, classes), _pattern(second, classes)
        orders += [f"{a}{_GAP}{b}", f"{b}{_GAP}{a}"] if second else [a]
    return re.compile("|".join(f"(?:{order})" for order in orders))


class WordIndex:
    """Names by the words that stand for them; ``smok*`` stands for every word with that
    beginning."""

    def __init__(self) -> None:
        self._whole: dict[str, set[str]] = defaultdict(set)
        self._stems: dict[str, set[str]] = defaultdict(set)

    def add(self, word: str, name: str) -> None:
        """Add a name for a word."""
        (self._stems if word[-1] == "*" else self._whole)[word.rstrip("*")].add(name)

    def find(self, word: str) -> set[str]:
        """Return the names of a word."""
        begins = (word[:end] for end in range(1, len(word) + 1))
        return self._whole.get(word, set()).union(*(self._stems.get(stem, ()) for stem in begins))


class PhraseBook:
    """Phrases by name, each compiled only when a sentence has its first word.

    1,500 phrases with classes of 50 words take seconds to compile, and a question needs only a few.
    """

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._names: dict[str, list[str]] = defaultdict(list)
        """By phrase."""
        self._begins = WordIndex()
        self._patterns: dict[str, Pattern] = {}

    def add(self, name: str, phrases: Iterable[str]) -> None:
        """Add phrases that are found under a name."""
        for phrase in phrases:
            self._names[phrase].append(name)
            for part in phrase.split(" + "):
                for word in _first_words(_TOKEN.findall(part), self._classes):
                    self._begins.add(word, phrase)

    def find(self, sentence: str) -> set[str]:
        """Return the names with a phrase in a sentence of `split_sentences`."""
        names: set[str] = set()
        for phrase in set[str]().union(*map(self._begins.find, sentence.split())):
            if names.issuperset(self._names[phrase]):
                continue
            if phrase not in self._patterns:
                self._patterns[phrase] = compile_phrases([phrase], self._classes)
            if self._patterns[phrase].search(sentence):
                names.update(self._names[phrase])
        return names


def _first_words(tokens: list[str], classes: Classes) -> set[str]:
    """Return the words that a phrase may begin with, stems with an asterisk."""
    first: set[str] = set()
    begins = [True]  # of the phrase, and of each group that is open here
    for at, sign in enumerate(tokens):
        if sign == "(":
            begins.append(begins[-1])
        elif sign == "|":
            begins[-1] = begins[-2]
        elif sign == ")":
            begins.pop()
            if tokens[at + 1 : at + 2] != ["?"]:
                begins[-1] = False
        elif sign not in _SIGNS:
            if begins[-1]:
                entries = classes[sign[1:-1]] if sign[0] == "<" else (sign,)
                first.update(entry.split()[0] for entry in entries)
            if tokens[at + 1 : at + 2] != ["?"]:
                begins[-1] = False
        if len(begins) == 1 and not begins[0]:
            break
    return first


def _pattern(phrase: str, classes: Classes) -> str:
    return "(?<= )" + "".join(_piece(token, classes) for token in _TOKEN.findall(phrase))


def _piece(token: str, classes: Classes) -> str:
    """The pattern of a word, of a class ``<brake>``, or of a sign."""
    if token in _SIGNS:
        return _SIGNS[token]
    if token[0] == "<":
        return f"(?:{'|'.join(_words(entry) for entry in classes[token[1:-1]])})"
    return f"(?:{_words(token)})"


def _words(entry: str) -> str:
    return "".join(re.escape(word).replace(r"\*", "[^ ]*") + " " for word in entry.split())
