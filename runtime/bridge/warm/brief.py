"""What is said to a driver before a session; pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.telemetry.ranking import time_text
from runtime.bridge.tracks.model import DangerZone, Track, WeatherPhase
from runtime.bridge.warm.evidence import Evidence, Place, evidence_of
from runtime.bridge.warm.grades import Grades
from runtime.bridge.warm.lessons import Lesson

ZONES: Final = 2
USUAL_GOAL: Final = "personal best lap"
_SEVERITY: Final = ("high", "medium", "low")
PHASES: Final = {
    "morning_fog": "Morning fog",
    "warm_up": "Warm-up hours",
    "peak_grip": "Peak grip",
    "late_session": "Late in the day",
}
Json = dict[str, object]


class Plan(NamedTuple):
    """All that a briefing is made from."""

    driver: str
    date: str
    hour: int
    goal: str
    asked: tuple[str, ...]
    """What the driver wants to look at."""
    phase: WeatherPhase
    grades: Grades
    track: Track | None = None
    best_s: float | None = None
    """The driver's best lap on the track."""
    lesson: Lesson | None = None

    @property
    def zones(self) -> tuple[DangerZone, ...]:
        """The places to respect, the worst first."""
        zones = self.track.danger_zones if self.track is not None else ()
        return tuple(sorted(zones, key=lambda one: (_SEVERITY.index(one.severity), one.start_m)))

    @property
    def focus(self) -> tuple[str, ...]:
        """What was asked for; else the weakest corner and what always pays."""
        weakest = (self.grades.weakest,) if self.grades.weakest else ()
        return self.asked or (*weakest, "consistency", "exit speed")[:3]


def plain_brief(plan: Plan) -> str:
    """The briefing without any model, in Markdown."""
    parts = [weather_line(plan), _form(plan), _weakest(plan), *_respect(plan), _tasks(plan)]
    if plan.lesson is not None and plan.grades.weakest:
        title = plan.lesson.title
        shown = f"[{title}]({plan.lesson.url})" if plan.lesson.url else f"*{title}*"
        parts.append(f"Ten minutes of reading that fit today: {shown}.")
    return "\n\n".join(part for part in parts if part)


def weather_line(plan: Plan) -> str:
    """What the surface is like."""
    name = PHASES.get(plan.phase.id, plan.phase.id.replace("_", " ").capitalize())
    where = f" at {plan.track.name}" if plan.track is not None else ""
    return f"{name}{where}: the surface is {plan.phase.surface_state}. {plan.phase.coaching_note}"


def brief_evidence(plan: Plan) -> Evidence:
    """What may be said in a briefing."""
    track = plan.track
    places = [Place(one.name, one.number, one.nicknames) for one in track.corners] if track else []
    names = [plan.driver, *([track.name] if track else [])]
    if track is not None:
        names += [one.name for one in track.sectors]
        names += [one.name for one in track.straights]
    if plan.lesson is not None:
        names.append(plan.lesson.title)
    return evidence_of(brief_facts(plan), places, names)


def brief_facts(plan: Plan) -> Json:
    """The evidence of a briefing, fit for JSON."""
    grades, track = plan.grades, plan.track
    tips = {}
    if track is not None and grades.weakest:
        corner = track.corner(grades.weakest)
        tips = {"tip": corner.coaching_tip} if corner is not None and corner.coaching_tip else {}
    known: Json = {
        "weather": {"surface": plan.phase.surface_state, "note": plan.phase.coaching_note},
        "danger_zones": [one.description for one in plan.zones],
        "goal": plan.goal,
        "focus": list(plan.focus),
    }
    if grades.weakest and grades.weakest_score is not None:
        known["weakest"] = {
            "corner": grades.weakest,
            "score": round(grades.weakest_score, 3),
            **tips,
        }
    if grades.improved is not None:
        known["improved"] = {
            "corner": grades.improved,
            "improvement_pct": round(100 * (grades.improvement or 0.0), 1),
        }
    if plan.best_s is not None:
        known["best_lap"] = {"best_lap_time_s": round(plan.best_s, 3)}
    return known


def _form(plan: Plan) -> str:
    said = []
    if plan.best_s is not None:
        said.append(f"Your best here is {time_text(plan.best_s)}.")
    if plan.grades.improved is not None and plan.grades.improvement is not None:
        said.append(
            f"{plan.grades.improved} has come on: {100 * plan.grades.improvement:.0f} points up on "
            "the sessions before. Trust it today."
        )
    if not said:
        return "No history yet, so today is for learning the place: build up over three laps."
    return " ".join(said)


def _weakest(plan: Plan) -> str:
    weakest = plan.grades.weakest
    if weakest is None:
        return ""
    corner = plan.track.corner(weakest) if plan.track is not None else None
    nick = f" ({corner.nicknames[0]})" if corner is not None and corner.nicknames else ""
    tip = f" {corner.coaching_tip}" if corner is not None and corner.coaching_tip else ""
    return f"Work on **{weakest}**{nick}: it has been your weakest corner lately.{tip}"


def _respect(plan: Plan) -> Sequence[str]:
    zones = plan.zones[:ZONES]
    if not zones or plan.track is None:
        return ()
    lines = [f"- {_place(plan.track, one)}{one.description}" for one in zones]
    return ("Respect:\n" + "\n".join(lines),)


def _place(track: Track, zone: DangerZone) -> str:
    """The corner that a zone lies at, where it lies at one."""
    for corner in track.in_lap_order():
        reach = (corner.exit.distance_m - corner.entry.distance_m) % track.length_m
        if (zone.start_m - corner.entry.distance_m) % track.length_m <= reach or (
            zone.end_m - corner.entry.distance_m
        ) % track.length_m <= reach:
            return f"{corner.name}: "
    return ""


def _tasks(plan: Plan) -> str:
    items = "\n".join(f"- {item}" for item in plan.focus)
    return f"Goal: {plan.goal}. Keep in mind:\n{items}"
