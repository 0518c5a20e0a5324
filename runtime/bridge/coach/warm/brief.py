"""What is said to a driver before a session; pure."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.grading import zones_at
from runtime.bridge.coach.warm.evidence import Evidence, Place, evidence_of
from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.grades import Grades
from runtime.bridge.coach.warm.lessons import Lesson
from runtime.bridge.coach.warm.pedagogy import FITTING, concept_for, tip_of
from runtime.bridge.coach.warm.same import opposes
from runtime.bridge.session.ranking import time_text
from runtime.bridge.track.model import USUAL as USUAL_PHASES
from runtime.bridge.track.model import Corner, DangerZone, Track, WeatherPhase

ZONES: Final = 2
USUAL_GOAL: Final = "personal best lap"
_SEVERITY: Final = ("high", "medium", "low")
PHASES: Final = {
    "morning_fog": "Morning fog",
    "warm_up": "Warm-up hours",
    "peak_grip": "Peak grip",
    "late_session": "Late in the day",
}
SURFACES: Final = {
    "cool damp": "the surface is usually cool and damp",
    "rising grip": "the grip is usually rising",
    "optimal": "the grip is usually at its best",
    "tire degradation": "the grip usually fades",
}
TIRED: Final = re.compile(r"^Tyres are past their best: (\w)| and the tyres are tired")
"""What nobody can say of a driver who has not driven yet."""
NEAR_M: Final = 200.0
"""A danger so near ahead of a corner is that of its approach."""
LEARNING: Final = "look_ahead"
"""The concept for a day without history."""
USUAL: Final = "brake_end_focus"
CONCEPTS: Final = (
    (r"trail", "trail_brake"),
    (r"brak|stop", "brake_end_focus"),
    (r"exit|throttle|power", "exit_speed"),
    (r"apex|line|turn-in", "late_apex"),
    (r"vision|eyes|look|consisten|rhythm|smooth", "look_ahead"),
    (r"commit|flat|straight", "full_commitment"),
)
"""What a driver asks for, and the concept that teaches it."""
Json = dict[str, object]


def concept_of(asked: Sequence[str], weakest: str | None, work: Finding | None = None) -> str:
    """The concept to read about: what was asked for, else that of what there is to *work* on, of
    a weak corner or of a new day."""
    for item in asked:
        for words, concept in CONCEPTS:
            if re.search(rf"\b(?:{words})", item, re.IGNORECASE):
                return concept
    if work is not None:
        return concept_for(work)
    return USUAL if weakest is not None else LEARNING


def place(corner: Corner, track: Track | None = None) -> Place:
    """A corner as sentences about it are checked."""
    danger = bool(zones_at(corner, track))
    return Place(corner.name, corner.number, corner.nicknames, corner.direction, danger)


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
    work: Finding | None = None
    """What the driver's last session here came to, first of all."""

    @property
    def night(self) -> bool:
        """Whether the hour lies outside the day that the phases divide."""
        return self.phase in USUAL_PHASES and self.phase.start_hour == 0

    @property
    def note(self) -> str:
        """What the surface asks for; nothing at night."""
        note = "" if self.night else self.phase.coaching_note
        return TIRED.sub(lambda found: (found[1] or "").upper(), note)

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


def brief_parts(plan: Plan) -> tuple[str, ...]:
    """The briefing without any model, in Markdown: surface, form, dangers, tasks, reading."""
    parts = (
        weather_line(plan),
        _form(plan),
        _weakest(plan),
        _respect(plan),
        _tasks(plan),
        _reading(plan.lesson),
    )
    return tuple(part for part in parts if part)


def weather_line(plan: Plan) -> str:
    """What the surface is like."""
    name = PHASES.get(plan.phase.id, plan.phase.id.replace("_", " ").capitalize())
    where = f" at {plan.track.name}" if plan.track is not None else ""
    state = plan.phase.surface_state
    surface = SURFACES.get(state, f"the surface is usually {state}")
    if plan.night:
        return f"The surface{where}: {surface}."
    note = f"As a rule at this hour: {plan.note}" if plan.note else ""
    return f"{name}{where}: {surface}. {note}".strip()


def placed_zones(plan: Plan) -> tuple[str, ...]:
    """The places to respect, each with where it lies, the worst first."""
    track = plan.track
    if track is None:
        return ()
    return tuple(f"{_place(track, one)}: {one.description}" for one in plan.zones)


def brief_evidence(plan: Plan) -> Evidence:
    """What may be said in a briefing."""
    track = plan.track
    places = [place(one, track) for one in track.corners] if track is not None else []
    names = [plan.driver, *([track.name] if track else [])]
    areas = [one.name for one in track.sectors] if track is not None else []
    areas += [one.name for one in track.straights] if track is not None else []
    if plan.lesson is not None:
        names.append(plan.lesson.title)
    return evidence_of(brief_facts(plan), places, names, brief_parts(plan), areas)


def brief_facts(plan: Plan) -> Json:
    """The evidence of a briefing, fit for JSON."""
    grades, track = plan.grades, plan.track
    tips = {}
    if track is not None and grades.weakest:
        corner = track.corner(grades.weakest)
        tip = corner.coaching_tip if corner is not None else ""
        against = plan.work is not None and _against(tip, plan.work)
        tips = {"tip": tip} if tip and not against else {}
    known: Json = {
        "weather": {"surface": plan.phase.surface_state, "note": plan.note},
        "danger_zones": list(placed_zones(plan)),
        "goal": plan.goal,
        "focus": list(plan.focus),
    }
    if grades.weakest and grades.weakest_score is not None:
        score = round(grades.weakest_score, 3)
        known["weakest"] = {"corner": grades.weakest, "score": score, **tips}
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
            f"the sessions before.{'' if _slippery(plan) else ' Trust it today.'}"
        )
    if not said and plan.grades.weakest is not None:
        return "There is no lap time of yours to beat here yet: build up over three laps."
    if not said:
        return "No history yet, so today is for learning the place: build up over three laps."
    return " ".join(said)


def _weakest(plan: Plan) -> str:
    weakest = plan.grades.weakest
    if weakest is None:
        return ""
    corner = plan.track.corner(weakest) if plan.track is not None else None
    why = "it has been your weakest corner lately"
    if plan.work is not None:
        why = "in your last session here most was to be won there"
        if plan.work.causes and plan.work.basis == "own_best":
            lost = plan.work.lost_s
            why = f"in your last session here your usual pass was {lost:.2f} s off your best one"
    nick = f" ({corner.nicknames[0]})" if corner is not None and corner.nicknames else ""
    tip = corner.coaching_tip if corner is not None else ""
    if opposes(tip, plan.note):  # the surface of the day comes first
        tip = ""
    advice = _advice(plan)
    if opposes(tip, advice) or (plan.work is not None and _against(tip, plan.work)):
        tip = ""
    said = (f"Work on **{weakest}**{nick}: {why}.", advice, tip)
    return " ".join(one for one in said if one)


def _advice(plan: Plan) -> str:
    """What the debrief of the last session asked for, as far as the surface allows it."""
    if plan.work is None or (_slippery(plan) and plan.work.cause != "late_brake"):
        return ""
    tip = tip_of(plan.work)
    return "" if opposes(tip, plan.note) else f"{tip[:1].upper()}{tip[1:]}."


def _against(tip: str, work: Finding) -> bool:
    """Whether the circuit's note asks for the opposite of what there is to work on."""
    _, opposed = FITTING[work.cause]
    return re.search(opposed, tip, re.IGNORECASE) is not None


def _slippery(plan: Plan) -> bool:
    return re.search(r"damp|wet|cool|cold", plan.phase.surface_state) is not None


def _respect(plan: Plan) -> str:
    if plan.track is None:
        return (
            "Respect: no circuit is set, so take one slow lap to see where there is no room to run "
            "wide."
        )
    zones = placed_zones(plan)[:ZONES]
    if not zones:
        return (
            f"Respect: no danger zone is marked for {plan.track.name}, so build up and leave room "
            "at first."
        )
    return "Respect:\n" + "\n".join(f"- {one}" for one in zones)


def _place(track: Track, zone: DangerZone) -> str:
    """Where a zone lies: at which corner, and at which metres of the lap."""
    length = track.length_m
    metres = f"{zone.start_m:,.0f} to {zone.end_m:,.0f} m"
    span = (zone.end_m - zone.start_m) % length
    middle = zone.start_m + span / 2
    for corner in track.in_lap_order():
        entry, leave = corner.entry.distance_m, corner.exit.distance_m
        reach = (leave - entry) % length
        begin, centre = (zone.start_m - entry) % length, (middle - entry) % length
        end = (zone.end_m - entry) % length
        apex = (corner.apex.distance_m - entry) % length
        if apex <= begin <= reach < end:
            return f"Exit of {_called(corner)}, {metres}"
        if centre <= reach:
            return f"{_called(corner)}, {metres}"
    for corner in track.in_lap_order():
        ahead = (corner.entry.distance_m - middle) % length
        if ahead <= max(NEAR_M, span):
            return f"Before {_called(corner)}, {metres}"
    return f"At {zone.start_m:,.0f} m"


def _called(corner: Corner) -> str:
    return f"{corner.name} ({corner.nicknames[0]})" if corner.nicknames else corner.name


def _tasks(plan: Plan) -> str:
    items = "\n".join(f"- {item}" for item in plan.focus)
    first = plan.goal == USUAL_GOAL and plan.best_s is None
    goal = "a first clean lap, by which the next ones are measured" if first else plan.goal
    return f"Goal: {goal.rstrip('.')}. Keep in mind:\n{items}"


def _reading(lesson: Lesson | None) -> str:
    if lesson is None:
        return ""
    title = f"[{lesson.title}]({lesson.url})" if lesson.url else f"*{lesson.title}*"
    return f"Ten minutes of reading that fit today: {title}."
