"""The language of a question, by its small words."""

import re
from collections.abc import Mapping
from typing import Final

from runtime.bridge.coach.need import Language

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
        " langsamer bremse gas rundenzeit haarnadel beste schnellste letzte".split()
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
_WORD: Final = re.compile(r"[^\W\d_]+")
_CONTRACTED: Final = re.compile(r"['\u2019](?=(?:t|s|m|re|ve|ll)\b)")
_LETTERS: Final[Mapping[Language, str]] = {"de": "äöüß", "fr": "àâçèêëîïôœù", "es": "ñ¿¡íóúá"}


def find_language(text: str, last: Language | None) -> Language:
    """The language of *text*; where its words do not tell, that of *last*, else English."""
    scores = weigh_languages(text)
    best = max(scores, key=lambda language: (scores[language], language == last))
    rest = max(score for language, score in scores.items() if language != best)
    least = 1 if last is None else 2
    sure = scores[best] >= least and scores[best] > rest
    return best if sure else last or "en"


def weigh_languages(text: str) -> dict[Language, int]:
    """How many of the words and letters of *text* speak for each language."""
    plain = text.casefold()
    words = _WORD.findall(_CONTRACTED.sub("", plain))
    return {
        language: sum(word in known for word in words)
        + sum(letter in plain for letter in _LETTERS.get(language, ""))
        for language, known in WORDS.items()
    }
