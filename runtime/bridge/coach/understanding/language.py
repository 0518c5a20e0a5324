"""The language of a question, by its words and by the letters in them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import log
from typing import Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import fold, read_examples

WORDS: Final[Mapping[Language, frozenset[str]]] = {
    "en": frozenset(
        "the my i im ive am is are was were do does did what whats where why which how when who"
        " and of to in on at for with it its me you your she he her his they them should can"
        " could would have has had not dont this that there going lap laps turn corner than best"
        " please much many any if by about from so but just get got be been or we our will then no"
        " slow faster show tell give compare brake brakes braking throttle exit entry".split()
    ),
    "de": frozenset(
        "der die das den dem des ein eine einen einem einer ich mich mir du sie er es wir ihr ihm"
        " ist sind war waren bin hat habe hatte wird und oder aber nicht kein keine was wie wo"
        " warum wieso wann wer welche welcher welchen welches wieviel mit von vom zu zum zur im"
        " am auf aus bei für vor nach über noch mal so auch schon man mein meine meiner meinen"
        " kann soll muss darf da doch denn runde runden kurve kurven bitte heute gegen schneller"
        " langsamer bremse gas rundenzeit haarnadel beste schnellste letzte"
        " vielmal vielmals danke".split()
    ),
    "fr": frozenset(
        "le la les l un une des du de d au aux je j tu il elle on nous vous ils est sont était"
        " suis ai as a ont et ou mais ne n pas plus que qu qui quoi quel quelle quels où pourquoi"
        " comment combien quand avec dans en sur pour par ce c ça cette son sa ses mon ma mes moi"
        " me se y si sans fait faire virage virages tour tours plus vite mieux freine freinage"
        " meilleur épingle secteur lui leur être très trop aussi donc entre oui non".split()
    ),
    "es": frozenset(
        "el la los las un una unos de del al a en y o pero no que qué quien cómo como cuándo dónde"
        " donde por para con sin es son era fue está están estoy ha he me mi mis se su sus lo le"
        " yo tú ella nos más menos muy si sí cuál cuánto cuanto cuánta curva curvas vuelta vueltas"
        " puedo puede mejor peor rápido rápida tiempo frenada freno hay eso esta este esto qué"
        " horquilla tengo voy iba hago entre ya también pierdo pierde".split()
    ),
}
"""Small words, and the words of the track that tell a language; some are of two."""
_APOSTROPHES: Final = "'\u2019"
_WORD: Final = re.compile(rf"[^\W\d_][{_APOSTROPHES}](?=[^\W\d_])|[^\W\d_]+")
_CONTRACTED: Final = re.compile(r"['\u2019](?=(?:t|s|m|re|ve|ll)\b)")
_LETTERS: Final[Mapping[Language, str]] = {"de": "äöüß", "fr": "àâçèêëîïôœù", "es": "ñ¿¡íóúá"}
SHARED: Final = frozenset(
    "lap laps turn best fastest top topspeed speed vmax min max apex delta trail braking coasting"
    " coast exit entry grip stint setup feedback ok okay coach out in gap pace racing brake point"
    " t c b g km h kmh kph bar gps abs rpm sql debrief briefing".split()
)
"""Words of the track, and letters, that drivers of all languages say: they tell none."""
_MASK: Final = re.compile(r"\b(?:corner|lap|time|driver|sector|straight|amount)x\b")
SURE: Final = 2.0
"""By how much a language must be likelier than that of the last question (or English), as the
logarithm of a ratio, to be taken."""
WORD_WEIGHT: Final = 1.5
SMALL_WORDS: Final = 4
"""As how many times in the examples a small word counts."""
MOST: Final = 3.0
"""The most that a word, or part of one, can say for a language."""


def find_language(text: str, last: Language | None) -> Language:
    """The language of *text*; where its words do not tell, that of *last*, else English."""
    usual = last or "en"
    scores = _measure(text)
    best = max(scores, key=lambda language: (scores[language], language == usual))
    least = SURE if last is None else SURE * 2.5
    return best if scores[best] > scores[usual] + least else usual


def weigh_languages(text: str) -> dict[Language, int]:
    """How many of the words and letters of *text* speak for each language."""
    plain = text.casefold()
    words = _WORD.findall(_CONTRACTED.sub("", plain))
    return {
        language: sum(word in known for word in words)
        + sum(letter in plain for letter in _LETTERS.get(language, ""))
        for language, known in WORDS.items()
    }


def _measure(text: str) -> dict[Language, float]:
    """How much the words of *text*, and their parts, speak for each language."""
    known = _read_parts()
    scores = dict.fromkeys(WORDS, 0.0)
    for part in _parts(text):
        weight = WORD_WEIGHT if part[0] == "=" else 0.5
        for language, said in known.get(part, {}).items():
            scores[language] += weight * said
    return scores


@cache
def _read_parts() -> Mapping[str, Mapping[Language, float]]:
    """What each part of a word says for the languages: logarithms, of all languages about 0."""
    counts: dict[Language, Counter[str]] = {language: Counter() for language in WORDS}
    for example in read_examples():
        counts[example.language].update(_parts(_MASK.sub(" ", example.text)))
    for language, words in WORDS.items():
        for word in words:
            counts[language].update(list(_parts(word)) * SMALL_WORDS)
    totals = {language: sum(count.values()) / 1e5 for language, count in counts.items()}
    known: dict[str, Mapping[Language, float]] = {}
    for part in set().union(*counts.values()):
        logs = {
            language: log(count[part] / totals[language] + 1) for language, count in counts.items()
        }
        middle = sum(logs.values()) / len(logs)
        known[part] = {
            language: max(-MOST, min(MOST, value - middle)) for language, value in logs.items()
        }
    return known


def _parts(text: str) -> Iterator[str]:
    """Words, with and without accents, and their runs of three letters."""
    for word in _WORD.findall(_CONTRACTED.sub("", text.casefold())):
        yield from _parts_of_word(word)


@lru_cache(8192)
def _parts_of_word(word: str) -> tuple[str, ...]:
    bare = fold(word)
    if word[-1] in _APOSTROPHES:
        return (f"={bare}'",)
    if bare in SHARED:
        return ()
    padded = f" {bare} "
    runs = [padded[at : at + 3] for at in range(len(padded) - 2)]
    accents = [f"={word}", *(letter for letter in word if letter not in bare)]
    return (f"={bare}", *runs, *(accents if word != bare else ()))
