"""Knows the sentences of the project's own about driving, and where a model may repeat them; pure.

Where a session is told, nearly none may be: most suppose a road, a fault or a danger that was not
measured. Those that may stand in a list, with what must be known of their corner.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from runtime.bridge.coach.warm.advice_needs import NEEDS
from runtime.bridge.coach.warm.claims import plain
from runtime.bridge.coach.warm.evidence import Evidence

FILE: Final = Path(__file__).with_name("teachings.txt")
_CORNER: Final = re.compile(r"\b(?:turn|corner|t) ?\d+[a-z]?\b")
_WORD: Final = re.compile(r"\{c\}|[^\W_](?:[\w'/.:-]*[^\W_])?|[%+]")
_HANGS: Final = re.compile(
    r"(?:because|that|this|then|it|they|both|those|these|the cause is|give it|for black|move the"
    r" uphill)\b"
)
"""Beginnings of sentences that say something only behind the one they stood behind."""
_HERE: Final = re.compile(r"\bthe corner\b(?! of your eye)")
_AT: Final = """
= look
before you reach the turn-in of {c} look at the apex
look for the apex of {c} before you turn and for the exit before you reach the apex
look further through {c} and the hands become calm
lift your eyes in {c} and keep the near road in the corner of your eye
do not lock your eyes on one point in {c}
= exit_safe
open the steering first and squeeze the throttle in the same measure so that you leave {c} \
straight and on full power
= throttle_earlier
start with a light maintenance throttle at the apex of {c} and build it up smoothly
= steering
turn the wheel once for {c} hold it and unwind it to the exit
= softer
as your hands turn into {c} your foot comes up more steering less brake
think of a string between the wheel and the pedal as you turn into {c} the string pulls your foot \
off the brake smoothly and without a jump
= area_braking
build the pressure fast hold it while the car is straight and bleed it off as you turn into {c}
= brake_later
brake a touch later for {c} and use the metres you win to let the pedal up more slowly so the \
front stays loaded as you turn
= brake_earlier
move the braking point for {c} back by a few metres release gently and leave yourself some margin \
until you trust it
"""
"""What may be said of a corner, below what must be known of it."""
_ANYWHERE: Final = frozenset(
    """
before you reach the apex look at the exit
relax the hands and they will follow
drive five laps at ninety percent and use the same markers every time
when the times are close together push one corner
breathe out slowly on the straight drop the shoulders and think only of the next corner
    """.strip().splitlines()
)
"""What may be said of any session."""
_WET: Final = frozenset(
    """
double your margin at the corner early soft braking one slow steering input and throttle only when \
the wheel is nearly straight
stay on the dry line for braking and power keep the wheel straight where it is damp and push only \
where you can see dry tarmac
slow down before standing water
    """.strip().splitlines()
)
"""What may be said of a wet track, without a corner."""
_WETNESS: Final = re.compile(r"\b(?:damp|wet|water|rain\w*)\b")


def taught(sentence: str, corners: re.Pattern[str] | None) -> bool:
    """Whether a sentence is one of them, whichever corner it names; *corners* finds their names."""
    key = key_of(sentence, corners)
    return key in _known() and not _HANGS.match(key)


def unfit(
    sentence: str, named: Sequence[str], context: Sequence[str] | None, evidence: Evidence
) -> bool:
    """Whether one of them may not be repeated there.

    *named* are its corners, *context* those that were named last; None: nobody can tell which.
    """
    key = key_of(sentence, evidence.corner_names)
    bare = not (evidence.facts or evidence.causes or evidence.marks)
    if bare and not named and context == []:
        return False  # a question about driving as such
    if key in _ANYWHERE:
        return False
    if key in _WET:
        return bool(named or context) or not any(map(_WETNESS.search, evidence.names))
    need = _needs().get(_HERE.sub("{c}", key))
    if need is None or (context is None and not named):
        return True
    return need != "look" and not NEEDS[need](named or context or [], evidence)


def key_of(sentence: str, corners: re.Pattern[str] | None = None) -> str:
    """A sentence as it is compared: its words in small letters, with a corner as *{c}*."""
    text = plain(sentence).casefold()
    if corners is not None:
        text = corners.sub("{c}", text)
    return " ".join(_WORD.findall(_CORNER.sub("{c}", text)))


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(FILE.read_text(encoding="utf-8").splitlines())


@lru_cache(maxsize=1)
def _needs() -> dict[str, str]:
    needs, need = dict[str, str](), ""
    for line in _AT.strip().splitlines():
        if line.startswith("= "):
            need = line[2:]
        else:
            needs[line] = need
    return needs
