"""Ranks the kinds of need, and of danger, for a question, as learnt from example sentences.

`training.understanding` learns; a sentence encoder, where there is one, compares with the examples
as well, whose vectors are kept beside the database, since they take minutes to make.
"""

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast, get_args

import numpy as np
from pydantic import TypeAdapter

from runtime.bridge.coach.need import Language, NeedKind
from runtime.bridge.coach.understanding.grams import Single, unit, weigh_grams
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.coach.understanding.tidy import fold, tidy
from runtime.bridge.session.recording import Numbers

SCALE: Final = 2.3
"""Score of a question on the sure side of what was learnt; one on the other side has 0."""
VECTOR_WEIGHT: Final = 0.6
"""Share of the sentence encoder in the score, where there is one."""
FAR: Final = 9.0
KINDS: Final = frozenset(get_args(NeedKind))
DANGER: Final = "danger "
"""Begins the kinds of dangers."""
ORDINARY: Final = f"{DANGER}none"
"""Racing talk that only sounds dangerous."""
_FOLDER: Final = Path(__file__).parent
LEARNT: Final = _FOLDER / "learnt.npz"
"""What `training.understanding` learnt from the examples."""
_FILE: Final = TypeAdapter(dict[NeedKind, list[str]])
_DANGERS: Final = TypeAdapter(dict[str, list[str]])


class Example(NamedTuple):
    """A question whose need or danger is known; names are masked in its text."""

    text: str
    language: Language
    kind: str


@cache
def read_examples() -> tuple[Example, ...]:
    """The examples of all languages, of needs and of dangers."""
    rows: list[Example] = []
    hazards = _FOLDER / "hazards" / "examples", DANGER, _DANGERS
    for folder, begin, shape in (hazards, (_FOLDER / "examples", "", _FILE)):
        for path in sorted(folder.glob("*.yaml")):
            for kind, texts in shape.validate_python(read_yaml(path)).items():
                name = f"{begin}{kind}"
                rows += [Example(text, cast("Language", path.stem), name) for text in texts]
    return tuple(rows)


class _Learnt:
    """What was learnt from the examples of one language."""

    def __init__(self, language: Language) -> None:
        with np.load(LEARNT, allow_pickle=False) as file:
            self.kinds = tuple(map(str, file[f"{language}_kinds"]))
            step = file[f"{language}_step"]
            self._weights: Single = file[f"{language}_weights"].astype(np.float32) * step
            self._bias: Single = file[f"{language}_bias"]
            self._rarity: Single = file[f"{language}_rarity"]

    def score(self, text: str) -> Single:
        """How sure a text is of each kind: 0 on the other side of the margin, `SCALE` on its."""
        filled, weighed = weigh_grams(text, self._rarity)
        side = weighed @ self._weights[filled] + self._bias
        return cast("Single", SCALE * np.maximum(side + 1, 0) / 2)


class _Near:
    """The examples of one language by their embeddings, of length 1."""

    def __init__(self, kinds: Sequence[str], vectors: Single) -> None:
        self._vectors = vectors
        self.kinds = tuple(dict.fromkeys(kinds))
        self._of_kind = np.array([self.kinds.index(kind) for kind in kinds])
        ends = np.cumsum(np.bincount(self._of_kind))
        firsts = np.concatenate([[0], ends[:-1]])
        self._nearest = np.maximum(ends[:, None] - [1, 2, 3], firsts[:, None])

    def score(self, vector: Single) -> dict[str, float]:
        """How near the examples of each kind are: the nearest counts most, then the next two."""
        alike = self._vectors @ vector
        best = alike[np.lexsort((alike, self._of_kind))][self._nearest]
        near = SCALE * (0.6 * best[:, 0] + 0.4 * best.mean(axis=1))
        return dict(zip(self.kinds, map(float, near), strict=True))


class Classifier:
    """What was learnt from the examples, and the nearest ones where there is an encoder."""

    def __init__(self, examples: Sequence[Example], vectors: Numbers | None = None) -> None:
        self.examples = tuple(examples)
        self._vectors = None if vectors is None else unit(vectors.astype(np.float32))
        self._learnt: dict[Language, _Learnt] = {}
        self._near: dict[Language, _Near] = {}
        self._words: dict[Language, Counter[str]] = {}

    def with_vectors(self, vectors: Numbers) -> "Classifier":
        """The classifier with the examples' embeddings, a row for each."""
        return Classifier(self.examples, vectors)

    def rank(
        self, masked_text: str, language: Language, vector: Numbers | None = None
    ) -> list[tuple[NeedKind, float]]:
        """Kinds of need with their scores, best first; about 1.5: certain, under 0.6: a guess."""
        scores = self._score(masked_text, language, vector)
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])
        return [(cast("NeedKind", kind), score) for kind, score in ranked if kind in KINDS]

    def weigh_danger(self, text: str, language: Language) -> tuple[str, float]:
        """The likeliest danger, and by how much it is likelier than an ordinary question."""
        scores = self._score(tidy(text, language), language, None)
        dangers = {kind for kind in scores if kind.startswith(DANGER)} - {ORDINARY}
        if not dangers:
            return "", -FAR
        first = max(dangers, key=lambda kind: scores[kind])
        ordinary = max(score for kind, score in scores.items() if kind not in dangers)
        return first.removeprefix(DANGER), scores[first] - ordinary

    def _score(self, text: str, language: Language, vector: Numbers | None) -> dict[str, float]:
        if language not in self._learnt:
            self._learnt[language] = _Learnt(language)
        learnt = self._learnt[language]
        scores = dict(zip(learnt.kinds, map(float, learnt.score(text)), strict=True))
        if vector is None or self._vectors is None:
            return scores
        near = self._neighbours(language).score(unit(vector[None].astype(np.float32))[0])
        return {
            kind: (1 - VECTOR_WEIGHT) * score + VECTOR_WEIGHT * near[kind]
            for kind, score in scores.items()
        }

    def words(self, language: Language) -> Counter[str]:
        """How often the examples of a language use each word."""
        if language not in self._words:
            texts = [
                each.text
                for each in self.examples
                if each.language == language and not each.kind.startswith(DANGER)
            ]
            self._words[language] = Counter(word for text in texts for word in fold(text).split())
        return self._words[language]

    def _neighbours(self, language: Language) -> _Near:
        if language not in self._near:
            assert self._vectors is not None
            rows = [i for i, each in enumerate(self.examples) if each.language == language]
            kinds = [self.examples[row].kind for row in rows]
            self._near[language] = _Near(kinds, self._vectors[rows])
        return self._near[language]


@cache
def load_classifier() -> Classifier:
    """The classifier of the examples on file."""
    return Classifier(read_examples())


def digest_examples() -> str:
    """Of the examples, to tell whether what was learnt is of these."""
    return _key("", [f"{each.language} {each.kind} {each.text}" for each in read_examples()])


log = logging.getLogger(__name__)


def vectors_file(database: Path) -> Path:
    """Where the vectors lie; the file may be deleted, they are made again."""
    return database.with_name(f"{database.name}.examples.npz")


def read_vectors(path: Path, model: str, texts: Sequence[str]) -> Numbers | None:
    """The vectors that *model* made of these *texts*, in rows; None where the file has others."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != _key(model, texts):
                return None
            vectors: Numbers = kept["vectors"].astype(np.float64)
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return vectors if len(vectors) == len(texts) else None


def write_vectors(path: Path, model: str, texts: Sequence[str], vectors: Numbers) -> None:
    """Keep them; where that fails, they are made again the next time."""
    part = path.with_name(f"{path.name}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            np.savez(file, key=_key(model, texts), vectors=vectors.astype(np.float16))
        part.replace(path)
    except OSError as problem:
        log.warning("the vectors of the examples are not kept: %s", type(problem).__name__)


def _key(model: str, texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([model, *texts]).encode()).hexdigest()
