"""Briefs and debriefs, put together from facts; pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.handling import TELLERS as OF_HANDLING
from runtime.bridge.coach.facts.knowledge import conditions, danger
from runtime.bridge.coach.facts.laps import TELLERS as OF_LAPS
from runtime.bridge.coach.facts.plans import again, name_circuit, target
from runtime.bridge.coach.facts.reviews import (
    advise,
    cause_fact,
    compare_widest,
    corner_fact,
    strengths,
    workable,
)
from runtime.bridge.coach.need import Slots
from runtime.bridge.coach.scene import Scene
from runtime.bridge.coach.wording.words import Words
from runtime.bridge.cues.model import Emotion

Facts: TypeAlias = tuple[Fact, ...]
PROBLEMS: Final = 2
ZONES: Final = 2
MOST_FOCUS: Final = 3
LONGEST_FOCUS: Final = 80
SAME_S: Final = 0.001
USUAL_CONCEPT: Final = "look_ahead"
_SLIPPERY: Final = re.compile(r"damp|wet|cool|cold")
USUAL_FOCUS: Final = (Term("focus", "consistency"), Term("focus", "exit_speed"))


class Story(NamedTuple):
    """A brief or a debrief, in paragraphs."""

    paragraphs: tuple[Facts, ...]
    focus: tuple[Fact | Term | str, ...]
    """At most three things to keep in mind: advice, or the driver's own wishes."""
    emotion: Emotion = "encouraging"
    problems: tuple[Fact, ...] = ()
    """The corner of each; `advice` says what to do there."""
    advice: tuple[Fact, ...] = ()
    concept: str = USUAL_CONCEPT
    """The coaching concept that its lesson teaches."""

    @property
    def facts(self) -> Facts:
        """All facts in order."""
        return tuple(fact for paragraph in self.paragraphs for fact in paragraph)

    @property
    def next_focus(self) -> str | None:
        """The corner with the most to gain; None: there is none."""
        corner = self.advice[0].values.get("corner") if self.advice else None
        return corner.name if isinstance(corner, Corner) else None

    def items(self, words: Words) -> tuple[str, ...]:
        """Return the focus in a few words each."""
        return tuple(name_focus(item, words) for item in self.focus)


def name_focus(item: Fact | Term | str, words: Words) -> str:
    """Name a thing to keep in mind in a few words."""
    if isinstance(item, Term):
        return words.term(item)
    if isinstance(item, Fact):
        item = words.text("focus-item", {name: item.values[name] for name in ("corner", "action")})
    return item[:LONGEST_FOCUS]


def write_story(story: Story, words: Words, *more: str) -> str:
    """Write the story in Markdown; *more* are paragraphs after it."""
    paragraphs = [" ".join(map(words.sentence, paragraph)) for paragraph in story.paragraphs]
    paragraphs += more
    return "\n\n".join(text for text in paragraphs if text)


def tell_debrief(scene: Scene, best_before_s: float | None) -> Story:
    """Debrief a session: something good first, at most two problems, one thing to do.

    *best_before_s* is the driver's best lap here in earlier sessions. The scene must have an
    outing.
    """
    assert scene.outing is not None
    drive = scene.outing.drive
    if drive.partial:
        seconds = drive.laps.full.duration_s
        driven = {"distance": Value(drive.laps.full.distance_m / 1000.0, "km")}
        began = Fact("debrief-partial", {**driven, "time": Value(seconds, "s")})
        return Story(((began,), (Fact("debrief-two-laps"),)), ())
    view, slots = compare_widest(scene), Slots()
    losses = workable(view)[:MOST_FOCUS]
    scares = [fact for fact in OF_HANDLING["incidents"](scene, slots) if fact.kind == "incident"][
        :1
    ]
    problems = [(corner_fact(view, loss), *cause_fact(view, loss)[:1]) for loss in losses]
    advice = tuple(advise(view, loss) for loss in losses)
    opening = _open(scene, best_before_s, slots)
    todo = (advice[0], *target(view)[:1]) if advice else (again(view),)
    proud = opening[0].kind == "debrief-record" or not losses
    calm: Emotion = "proud" if proud else "encouraging"
    return Story(
        (opening, *((scare,) for scare in scares), *problems[: PROBLEMS - len(scares)], todo),
        advice or (USUAL_FOCUS[0],),
        "concerned" if scares else calm,
        tuple(facts[0] for facts in problems),
        advice,
        (advice[0].concept if advice else None) or USUAL_CONCEPT,
    )


def _open(scene: Scene, best_before_s: float | None, slots: Slots) -> Facts:
    """State the best lap and a strength."""
    assert scene.outing is not None
    best = scene.outing.drive.best
    lead = OF_LAPS["best_lap"](scene, slots)[:1]
    if best_before_s is not None and best_before_s - best.duration_s >= SAME_S:
        values: dict[str, Cell] = {
            "best": Value(best.duration_s, "lap_time"),
            "lap": best.number or 0,
            "gained": Value(best_before_s - best.duration_s, "s"),
        }
        lead = (replace(lead[0], kind="debrief-record", values=values),)
    return (*lead, *strengths(scene, 1))


class Plan(NamedTuple):
    """What a brief knows besides the driver's last session here."""

    wishes: tuple[str, ...] = ()
    """What the driver wants to look at."""
    best_s: float | None = None
    """The driver's best lap here."""
    weakest: str | None = None
    """The corner with the lowest grades, if no session shows what to work on."""
    improved: tuple[str, float] | None = None
    """The most improved corner, and its gain of 100 points."""


def tell_brief(scene: Scene, plan: Plan) -> Story:
    """Tell what matters before a session: the surface, the form, one thing to do, the dangers, the
    goal.

    The scene's outing is the driver's last session here; None: there is none.
    """
    form = []
    if plan.best_s is not None:
        form.append(Fact("brief-best", {"best": Value(plan.best_s, "lap_time")}))
    if plan.improved is not None:
        corner, points = plan.improved
        values: dict[str, Cell] = {"corner": Corner(corner), "points": Value(points, "")}
        form.append(Fact("brief-improved", values))
    advice: Facts = ()
    if scene.outing is not None:
        view = compare_widest(scene)
        advice = tuple(advise(view, loss) for loss in workable(view)[:1])
    todo = advice
    if advice and _SLIPPERY.search(str(scene.conditions.get("surface", ""))):
        todo = (Fact("brief-slippery"), *advice)
    elif not advice and plan.weakest is not None:
        todo = (Fact("brief-weakest", {"corner": Corner(plan.weakest)}),)
    first = (*advice, *((Corner(plan.weakest).name,) if plan.weakest and not advice else ()))
    focus = plan.wishes or (*first, *USUAL_FOCUS)[:MOST_FOCUS]
    zones = danger(scene, Slots())
    return Story(
        (
            (*name_circuit(scene), *conditions(scene, Slots())[1:]),
            tuple(form) or (Fact("brief-first"),),
            todo,
            (*zones[:ZONES], *(zones[-1:] if len(zones) > ZONES else ())),
        ),
        focus,
        problems=(),
        advice=advice,
        concept=(advice[0].concept if advice else None) or USUAL_CONCEPT,
    )


def shorten(items: Sequence[str]) -> tuple[str, ...]:
    """Trim items for display: each once, at most three of at most 80 characters."""
    trimmed = (" ".join(item.split())[:LONGEST_FOCUS].strip() for item in items)
    return tuple(dict.fromkeys(item for item in trimmed if item))[:MOST_FOCUS]
