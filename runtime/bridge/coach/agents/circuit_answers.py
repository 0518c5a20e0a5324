"""Single facts about a circuit, its corners and a session as such; pure."""

import re
from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.naming import FLATTEST, SHARPEST
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, no_corner
from runtime.bridge.track.model import Corner, Track

TOOL: Final = "circuit_facts"
LEVEL_M: Final = 0.5
SEVERITIES: Final = {
    1: "a hairpin",
    2: "a tight corner",
    3: "a medium-tight corner",
    4: "a medium corner",
    5: "a fast corner",
    6: "barely a bend",
}


def shape(topic: Topic, corners: Sequence[Corner]) -> Found:
    """What a corner is like: its side, how tight it is, its rise, its names, the advice for it."""
    known = {one.name: one for one in corners}
    if any(name not in known for name in topic.corners):
        return Found(TOOL, no_corner(known), empty=True)
    told = [_shape(known[name], topic.what) for name in topic.corners]
    corner = known[topic.corners[0]]
    facts = tuple(
        fact
        for name in topic.corners
        for fact in (
            Fact(f"{name}, direction", known[name].direction),
            Fact(f"{name}, severity", known[name].severity),
        )
    )
    details = [] if len(told) > 1 else [_more(corner, topic.what)]
    return Found(TOOL, " ".join(told), tuple(one for one in details if one), facts)


def _shape(corner: Corner, what: str) -> str:
    name, side = corner.name, f"{corner.direction}-hander"
    if what == "severity":
        kind = SEVERITIES.get(corner.severity, "a corner")
        scale = f"where {SHARPEST} is a hairpin and {FLATTEST} barely a bend"
        return f"{name} is {kind}: severity {corner.severity}, {scale}."
    if what == "slope":
        rise = corner.elevation_change_m
        if rise is None:
            return f"The heights of {name} are not known: the track file would give them."
        if abs(rise) < LEVEL_M:
            return f"{name} is level: {rise:+.1f} m from entry to exit."
        word = "rises" if rise > 0 else "falls"
        return f"{name} {word} by {abs(rise):.1f} m from entry to exit."
    if what == "tip" and corner.coaching_tip:
        return f"{name}: {corner.coaching_tip}"
    if what == "name":
        names = f", also called {joined(list(corner.nicknames))}," if corner.nicknames else ""
        return (
            f"{name}{names} is a {side}; it lies {corner.entry.distance_m:.0f} to"
            f" {corner.exit.distance_m:.0f} m into the lap."
        )
    return f"{name} is a {side}."


def _more(corner: Corner, what: str) -> str:
    if what == "direction":
        return f"It is {SEVERITIES.get(corner.severity, 'a corner')}."
    if what == "severity":
        return f"It is a {corner.direction}-hander."
    return ""


def counted(
    topic: Topic,
    corners: Sequence[Corner],
    sectors: Sequence[str],
    straights: Sequence[str],
    track: Track | None,
) -> Found:
    """How many corners, sectors or straights there are."""
    names = {
        "corner": [one.name for one in corners],
        "sector": list(sectors),
        "straight": list(straights),
    }[topic.what]
    where = track.name if track is not None else "The circuit"
    facts = (Fact(f"{topic.what}s", len(names)),)
    summary = f"{where} has {len(names)} {topic.what}{'s' if len(names) != 1 else ''}."
    details = (f"They are {joined(names)}.",) if names else ()
    return Found(TOOL, summary, details, facts)


def circuit(
    topic: Topic, track: Track | None, corners: Sequence[Corner], length_m: float | None
) -> Found:
    """The circuit itself."""
    name = track.name if track is not None else ""
    if topic.what == "corners":
        listed = joined([one.name for one in corners]) if corners else "not known"
        return Found(TOOL, f"The corners are {listed}.", (), ())
    length = track.length_m if track is not None else length_m
    if topic.what == "straight":
        return _straight(topic, track)
    if length is None:
        return Found(
            TOOL, "There is no file of the circuit, and no lap that would tell.", empty=True
        )
    facts = (Fact("length of a lap", length, "m", 0),)
    if topic.what == "name":
        called = f"The circuit is {name}" if name else "The circuit has no file here"
        return Found(TOOL, f"{called}; a lap is {length:.0f} m long.", (), facts)
    whose = f"A lap of {name}" if name else "A lap"
    return Found(TOOL, f"{whose} is {length:.0f} m long, with {len(corners)} corners.", (), facts)


def _straight(topic: Topic, track: Track | None) -> Found:
    """How long a straight is: the one that is named, else the longest."""
    own = {}
    if track is not None:
        own = {one.name: (one.end_m - one.start_m) % track.length_m for one in track.straights}
    names = [name for name in topic.straights if name in own] or sorted(own, key=lambda n: -own[n])
    if not names:
        return Found(TOOL, "How long the straights are is not on file.", empty=True)
    name = names[0]
    first = "" if topic.straights else "The longest straight is "
    text = f"{first}{name}{':' if first else ' is'} {own[name]:.0f} m{'' if first else ' long'}."
    return Found(TOOL, text, (), (Fact(f"{name}, length", own[name], "m", 0),))


FOREIGN: Final = re.compile(
    r"\b(?:wie|wo|was|warum|welche[rs]?|meine?|ich|bin|war|und|runde|kurve|schnell\w*"
    r"|o\u00f9|est-ce|quel(?:le)?|pourquoi|je|mon|ma|mes|tour|virage|temps|plus"
    r"|cu\u00e1l|d\u00f3nde|qu\u00e9|por|mi|fue|vuelta|curva|tiempo|m\u00e1s"
    r"|dove|quale|perch\u00e9|mio|giro|il|hoe|waar|mijn|ronde|bocht|qual|onde|minha|volta)\b"
)
"""Words of other languages that stand in questions about driving."""
LETTERS: Final = re.compile(r"[^\W\d_]")
LEAST_FOREIGN: Final = 2
ENGLISH: Final = "I answer in English: please ask me in English."


def foreign(text: str) -> bool:
    """Whether a question, in small letters, is asked in another language."""
    letters = LETTERS.findall(text)
    latin = sum(1 for one in letters if one < "\u0250")
    if letters and latin < len(letters) / 2:
        return True
    return len(FOREIGN.findall(text)) >= LEAST_FOREIGN


def unknown(*, greeted: bool = False, other_language: bool = False) -> Found:
    """What is said to a question that no tool answers, or to a word that is no question."""
    if other_language:
        example = "Ask for example where you lose most time, or how turn 4 was."
        return Found("no_answer", ENGLISH, (example,), empty=True)
    text = (
        "That I cannot tell from the data: I know laps, sectors, corners, speeds, pedals and"
        " accelerations of a session."
    )
    if greeted:
        text = "I am ready for questions about laps, sectors, corners, speeds and pedals."
    example = "Ask for example where you lose most time, or how turn 4 was."
    return Found("no_answer", text, (example,), empty=True)
