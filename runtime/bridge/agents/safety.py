"""What comes before any data: the danger that a driver tells of; pure."""

import re
from typing import Final

from runtime.bridge.agents.crash_words import LOST, TIME_LOST
from runtime.bridge.agents.danger_words import ASKS, CAREFUL, HAZARDS
from runtime.bridge.agents.values import Found
from runtime.bridge.agents.words import plain

TOOL: Final = "safety"
FIRST: Final = (
    "Stop at a safe place, or come in slowly and off the line: car and driver are checked before"
    " anybody goes on, and flags and marshals come before any data."
)
_FIRST: Final = {
    "fire": (
        "Stop at a safe place now, by a marshals' post if one is near, switch the car off, get out"
        " and away from it; nothing in the data matters before that."
    ),
    "flag": (
        "Slow down, be ready to stop, overtake nobody and do what flags and marshals show: they"
        " come before any data."
    ),
    "track": (
        "Lift, keep off that line and be ready to stop; tell the marshals, and their flags come"
        " before any data."
    ),
    "drunk": (
        "No: do not drive after alcohol, drugs or medicine that makes slow, not on a track and not"
        " on a road; come back another day, sober and rested."
    ),
    "gear": (
        "No: nobody goes out without a helmet on and the belts done up; the rules of the track say"
        " what else is worn, and no lap is worth a ride without it."
    ),
    "road": (
        "No: all of this is for a closed circuit; on a public road the traffic rules hold, and"
        " nobody races or tries a limit there."
    ),
    "aids": (
        "No: leave ABS, traction and stability control on; the data cannot show what they save you"
        " from, and only an instructor in the car can tell when you no longer need them."
    ),
}
_NEEDED: Final = re.compile(r"\b(?:need|have to|must)\b(?!.*\bwithout\b)")
"""Asks whether something is worn, and not whether it may be left off."""
_SECOND: Final = {
    "crash": "If you hit something or do not feel well, see the medics first.",
    "brakes": "Slow with the gears, pump the pedal, use the run-off where you need it, and do not"
    " drive another lap on these brakes.",
    "ill": "Do not drive while you feel like that: let somebody look at you first.",
    "flag": "On red, come in slowly, or stop where the marshals tell you to.",
    "car": "Have it looked at before another lap.",
    "track": "If you drove through it, come in slowly and have the tyres looked at.",
    "fire": "Tell the marshals; the car is checked before it drives again.",
}


def hazard(question: str) -> str:
    """Which danger a driver tells of; empty where none is told."""
    text = plain(question)
    for name, words in HAZARDS:
        found = words.search(text)
        if found is None or (name == "crash" and ASKS.match(text)):
            continue
        if re.search(LOST, found[0]) and TIME_LOST.search(text):
            continue  # time was lost, and not the car
        return name
    return ""


def careful(question: str) -> bool:
    """Whether a question is too grave for the words of a model."""
    return CAREFUL.search(plain(question)) is not None or hazard(question) != ""


def first_of_all(question: str) -> Found:
    """What is said to a danger, before anything else."""
    kind = hazard(question)
    if kind == "gear" and _NEEDED.search(plain(question)):
        return Found(TOOL, _FIRST[kind].replace("No:", "Yes:", 1))
    return Found(TOOL, _FIRST.get(kind, FIRST), (_SECOND[kind],) if kind in _SECOND else ())
