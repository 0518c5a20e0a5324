"""What comes before any data: the danger that a driver tells of; pure."""

import re
from typing import Final

from runtime.bridge.coach.agents import danger_told as told
from runtime.bridge.coach.agents.crash_words import LOST, TIME_LOST
from runtime.bridge.coach.agents.danger_words import ASKS, CAREFUL, HAZARDS
from runtime.bridge.coach.agents.values import Found
from runtime.bridge.coach.agents.words import plain

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
    "others": (
        "Lift, be ready to stop and look for the way past that stays clear; what flags and"
        " marshals show comes before any data."
    ),
    "stranded": (
        "Get off the line if the car still rolls; if it stays where it is, stay belted in with the"
        " helmet on, unless it burns, until the marshals call you out: they come before any data."
    ),
    "worn": (
        "Slow down, keep off the line and stop at a safe place, or come in: belts, seat, helmet and"
        " visor sit as they should before another lap, and that comes before any data."
    ),
    "throttle": (
        "Clutch down or out of gear, brake straight, then switch the engine off and roll off the"
        " line: a throttle that does not close comes before any data."
    ),
    "hot": (
        "Do not carry on: lift, come in slowly and off the line, or stop at a safe place with the"
        " engine off; what a gauge warns of comes before any data."
    ),
    "rain": (
        "Lift first: brake earlier, softer and straight, pick up the throttle late, and keep off"
        " kerbs, paint and puddles; come in if you are on slicks, or cannot see or hold the car."
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
NOW: Final = frozenset({"others", "stranded", "worn", "track", "throttle", "car"})
"""What is told while it is so; of what was recorded, the data tell."""
_NEEDED: Final = re.compile(r"\b(?:need|have to|must)\b(?!.*\bwithout\b)")
"""Asks whether something is worn, and not whether it may be left off."""
_SECOND: Final = {
    "crash": "If you hit something or do not feel well, see the medics first.",
    "brakes": "Slow with the gears, pump the pedal, use the run-off where you need it, and do not"
    " drive another lap on these brakes.",
    "ill": "Do not drive while you feel like that: let somebody look at you first.",
    "flag": "On red, come in slowly, or stop where the marshals tell you to.",
    "car": "Have it looked at before another lap.",
    "others": "Overtake nobody there until it is clear.",
    "throttle": "Have it looked at before another lap.",
    "hot": "Have it looked at before another lap.",
    "rain": "Nothing recorded before it began says how much grip is left.",
    "track": "If you drove through it, come in slowly and have the tyres looked at.",
    "fire": "Tell the marshals; the car is checked before it drives again.",
}


def hazard(question: str) -> str:
    """Which danger a driver tells of; empty where none is told."""
    text = plain(question)
    for name, words in HAZARDS:
        if name in NOW and (told.RECORDED.match(text) or told.of_a_signal(text)):
            continue  # what was recorded is asked for
        found = words.search(text)
        if found is None or (name == "crash" and ASKS.match(text)):
            continue
        if re.search(LOST, found[0]) and TIME_LOST.search(text):
            continue  # time was lost, and not the car
        if name == "worn" and told.MAY.match(text):
            continue  # leave is asked, and refused
        return name
    return "hot" if told.hot(text) else "rain" if told.rain(text) else ""


def careful(question: str) -> bool:
    """Whether a question is too grave for the words of a model."""
    return CAREFUL.search(plain(question)) is not None or hazard(question) != ""


def first_of_all(question: str) -> Found:
    """What is said to a danger, before anything else."""
    kind = hazard(question)
    if kind == "gear" and _NEEDED.search(plain(question)):
        return Found(TOOL, _FIRST[kind].replace("No:", "Yes:", 1))
    return Found(TOOL, " ".join((_FIRST.get(kind, FIRST), _SECOND.get(kind, ""))).strip())
