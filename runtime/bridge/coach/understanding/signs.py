"""Signs of danger: words that tell of one wherever they stand, alone or where two meet.

They are in ``hazards/signs.yaml``. They find what the phrases of `hazards` do not know yet: "the
helmet fell on concrete yesterday" has a word for the kit and one for what is wrong with it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import fold, read_examples
from runtime.bridge.coach.understanding.phrases import read_classes, read_yaml

_FILE: Final = Path(__file__).parent / "hazards" / "signs.yaml"
_LONG: Final = 6
"""Letters of a word that is known with one letter wrong."""


class Signs:
    """The words of a language by their classes; a class in capitals is a hazard by itself."""

    def __init__(self, language: Language) -> None:
        data = _read()
        written = dict(data[language])
        alone = read_classes(written.pop("alone"))
        self._pairs = {
            key: [tuple(pair.split()) for pair in pairs] for key, pairs in data["pairs"].items()
        }
        self._whole: dict[str, set[str]] = defaultdict(set)
        self._stems: dict[str, set[str]] = defaultdict(set)
        self._typos: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for name, entries in ({f"!{key}": each for key, each in alone.items()}).items():
            self._add(name, entries)
        for name, entries in read_classes(written).items():
            self._add(name, entries)

    def find(self, sentence: str) -> set[str]:
        """The hazards of a sentence of `phrases.split_sentences`."""
        classes = self.classes_of(sentence.split())
        found = {name[1:] for name in classes if name[0] == "!"}
        if "defines" in classes and "permits" not in classes:
            return set()
        if "asks" not in classes:
            found.update(
                key for key, pairs in self._pairs.items() if any(classes.issuperset(p) for p in pairs)
            )
        return found

    def classes_of(self, words: list[str]) -> set[str]:
        """The classes whose words stand in a sentence."""
        found: set[str] = set()
        for start in range(len(words)):
            for length in (1, 2, 3, 4):
                run = " ".join(words[start : start + length])
                found |= self._whole.get(run, set())
                found.update(*(self._stems.get(run[:end], ()) for end in range(3, len(run) + 1)))
            if len(words[start]) >= _LONG and words[start] not in _known_words():
                found |= self._mistyped(words[start])
        return found

    def _mistyped(self, word: str) -> set[str]:
        """The classes of words of which *word* has a letter more, less, changed or swapped."""
        near = {entry for each in _shorten(word) for entry in self._typos.get(each, ())}
        return {
            name
            for entry, name in near
            if len(entry) != len(word) or sum(a != b for a, b in zip(entry, word, strict=True)) <= 2
        }

    def _add(self, name: str, entries: Iterable[str]) -> None:
        for entry in entries:
            stem = entry.rstrip("*")
            (self._stems if entry[-1] == "*" else self._whole)[stem].add(name)
            if len(stem) > _LONG and " " not in stem:
                for each in _shorten(stem):
                    self._typos[each].add((stem, name))


@cache
def load_signs(language: Language) -> Signs:
    """The signs of a language, read once."""
    return Signs(language)


@cache
def _read() -> Mapping[str, Mapping[str, str]]:
    return read_yaml(_FILE)


@cache
def _known_words() -> frozenset[str]:
    """Words of ordinary questions: none is a typing error for a danger."""
    return frozenset(word for example in read_examples() for word in fold(example.text).split())


def _shorten(word: str) -> Iterator[str]:
    """The word, and the word without one of its letters."""
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
