"""Signs of danger: words that tell of one wherever they stand, alone or where two meet.

They are in ``hazards/phrases/signs.yaml``. They find what the phrases do not know yet: "the
helmet fell on concrete yesterday" has a word for the kit and one for what is wrong with it.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import load_classifier
from runtime.bridge.coach.understanding.phrases import WordIndex, read_classes, read_yaml
from runtime.bridge.coach.understanding.tidy import fold, slips

_FILE: Final = Path(__file__).parent / "hazards" / "phrases" / "signs.yaml"
_STRANGE: Final = 2
"""Words unknown to ordinary questions that make a remark strange; a question needs one more."""
_LONGEST: Final = 24
"""Letters; what is longer is no word."""
_LONG: Final = 6
"""Letters of a word that is known with one letter wrong."""


class Signs:
    """The words of a language by their classes; ``!key`` is a class of hazard words."""

    def __init__(self, language: Language) -> None:
        data, self._language = _read(), language
        written = dict(data[language])
        alone = read_classes(written.pop("alone"))
        self._pairs = {
            key: [tuple(pair.split()) for pair in pairs] for key, pairs in data["pairs"].items()
        }
        self._index = WordIndex()
        self._long = WordIndex()
        """Those that are known with a letter wrong."""
        classes = {f"!{key}": entries for key, entries in alone.items()}
        for name, entries in {**classes, **read_classes(written)}.items():
            for entry in entries:
                self._index.add(entry, name)
                if len(entry.rstrip("*")) > _LONG and " " not in entry:
                    self._long.add(entry, name)

    def find(self, sentence: str) -> set[str]:
        """The hazards of a sentence of `phrases.split_sentences`."""
        classes = self.classes_of(sentence.split())
        found = {name[1:] for name in classes if name[0] == "!"}
        if "defines" in classes and "permits" not in classes:
            return set()
        if "asks" not in classes:
            found.update(
                key
                for key, pairs in self._pairs.items()
                if any(classes.issuperset(p) for p in pairs)
            )
        return found

    def classes_of(self, words: list[str]) -> set[str]:
        """The classes whose words stand in a sentence."""
        found: set[str] = set()
        for start in range(len(words)):
            for length in (1, 2, 3, 4):
                run = " ".join(words[start : start + length])[: 4 * _LONGEST]
                found |= self._index.find(run)
            if _LONG <= len(words[start]) <= _LONGEST:
                found |= self._mistyped(words[start])
        return found

    def is_strange(self, text: str) -> bool:
        """Whether a text that was not understood speaks of something else; its names are masked.

        It is then likelier a danger in words that nobody foresaw than a question about laps.
        """
        words = fold(text).split()
        known = load_classifier().words(self._language)
        unknown = [word for word in words if len(word) > 2 and word.isalpha() and word not in known]
        asks = "opens" in self.classes_of(words[:2])
        return len(unknown) >= _STRANGE + asks

    def _mistyped(self, word: str) -> set[str]:
        """The classes of words of which *word* has a letter more, less, changed or swapped."""
        if word in load_classifier().words(self._language):
            return set()
        return set[str]().union(*map(self._long.find, slips(word)))


@cache
def load_signs(language: Language) -> Signs:
    """The signs of a language, read once."""
    return Signs(language)


@cache
def _read() -> dict[str, Any]:
    return read_yaml(_FILE)
