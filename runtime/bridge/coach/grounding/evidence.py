"""Holds a sentence of a model against the facts of an answer.

``statements.yaml`` says what each kind of fact states; ``words.yaml`` has the words that are claims
(early, most, the brake …) and those of what no fact knows (tyres, wind, a spin). All other words
are free. A part of a sentence stands when one statement has all of its claims, places and numbers.
"""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.grounding.part import RANKS, Part
from runtime.bridge.coach.grounding.reading import Reader
from runtime.bridge.coach.grounding.statements import state
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

SUBJECTS: Final = frozenset({"own", "other", "than-own", "than-other"})
MOODY: Final = frozenset({"early", "late", "more", "less"})
"""Ways that a part is told to do as the part before is: try it again, and brake later."""


class Evidence:
    """The facts of one answer, in the language of its reader."""

    def __init__(self, facts: Sequence[Fact], words: Words, names: Names) -> None:
        told = [fact for fact in facts if not names.asker or fact.driver in ("", names.asker)]
        self.statements = [statement for fact in told for statement in state(fact)]
        corners = {
            call.lower(): corner.name
            for corner in names.corners
            for call in (corner.name, *corner.nicknames, words.corner(corner.name))
        }
        people = {*names.drivers, *(fact.other for fact in facts)} - {"", names.asker}
        wording = " ".join(map(words.sentence, facts))
        self.reader = Reader(words.language, corners, sorted(people), wording)

    def refute(self, sentence: str) -> str | None:
        """Why the facts do not bear a sentence out; None: they do.

        A part without a place of its own speaks of that of the part before. It may also speak of
        the same driver or lap, or go on with what that one says.
        """
        if stranger := self.reader.find_stranger(sentence):
            return f"?{stranger}"
        before, opener, mood = Part(), Part(), frozenset[str]()
        parts = [part for part in self.reader.parts(sentence) if any(part)]
        for at, part in enumerate(parts):
            strange = [mark for mark in part.marks if mark.startswith("?")]
            if strange:
                return strange[0]
            if part.marks & {"bid", "own", "other"}:
                mood = part.marks & {"bid"}
            if not (part.places and opener.places):
                part = part.join(opener.marks)
            elif not self._bears(opener):
                return str(opener)
            else:  # Turn 1 and Turn 11 are the worst
                part = part._replace(marks=part.marks - RANKS)
            opener = Part()
            if part.is_opener and at + 1 < len(parts):
                opener = part
                continue
            alone = part if part.places else part.join(before.places)
            if part.ways and part.ways <= MOODY:
                alone = alone.join(mood)
            joined = alone.join(before.marks)
            choices = [alone, alone.follow(before), joined]
            if not part.marks:
                choices = [joined]
            elif "other" in before.marks and not part.places and not part.whose & SUBJECTS:
                del choices[0]  # Ben brakes later and coasts less
            if not any(map(self._bears, choices)):
                return str(alone)
            before = alone if part.marks else joined
        return None

    def _bears(self, part: Part) -> bool:
        return all(any(map(claim.is_borne_by, self.statements)) for claim in part.split())
