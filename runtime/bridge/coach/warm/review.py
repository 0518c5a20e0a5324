"""What a session comes to, in plain values: the evidence of a debrief; pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from runtime.bridge.analysis.corners import ConsistencyRecord
from runtime.bridge.analysis.grading import CornerGrade, Scorecard, costliest
from runtime.bridge.analysis.highlights import Moment
from runtime.bridge.analysis.laps import IdealLap, LapTable
from runtime.bridge.analysis.stats import Stats
from runtime.bridge.coach.warm.brief import place
from runtime.bridge.coach.warm.evidence import Evidence, Place, evidence_of
from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.lessons import Lesson
from runtime.bridge.coach.warm.pedagogy import Teaching
from runtime.bridge.coach.warm.problems import facts
from runtime.bridge.track.model import Corner

LAPS: Final = 40
"""So many lap times are handed on."""
CORNERS: Final = 4
Json = dict[str, object]


class Review(NamedTuple):
    """A session in the parts that a debrief speaks of."""

    session_id: str
    track: str
    driver: str
    partial: bool
    """Whether it has no complete lap and was taken as one."""
    stats: Stats
    laps: LapTable
    ideal: IdealLap
    moments: tuple[Moment, ...]
    card: Scorecard | None = None
    """None where nobody knows where the corners are, as is *consistency*."""
    consistency: ConsistencyRecord | None = None
    corners: tuple[Corner, ...] = ()
    found: tuple[Finding, ...] = ()
    """What is worth telling, the most important first."""
    taught: tuple[Teaching, ...] = ()
    """What each of them teaches."""
    lesson: Lesson = Lesson("", "", None)
    """What to read."""
    best_before_s: float | None = None
    """The driver's best lap here in earlier sessions."""
    dangers: frozenset[str] = frozenset()
    """Corners where mistakes are punished."""
    placed: bool = True
    """Whether positions were recorded."""

    @property
    def next_focus(self) -> str | None:
        """The corner to work on first, as it is told; None without grades."""
        if self.card is None or self.card.letter is None or not self.found:
            return None
        return self.found[0].corner or None

    def corner(self, name: str) -> Corner | None:
        """What the track says about a corner."""
        return next((one for one in self.corners if one.name == name), None)


class Fragments(NamedTuple):
    """Exactly what a model or a template is handed, fit for JSON."""

    telemetry: Json
    highlights: list[Json]
    pedagogy: list[Json]

    def evidence(self, review: Review, *told: str) -> Evidence:
        """What may be said; *told* are texts that are true."""
        places = [place(one)._replace(danger=one.name in review.dangers) for one in review.corners]
        known = [one.corner for one in review.card.corners] if review.card is not None else []
        places += [Place(name) for name in known if all(name != one.name for one in places)]
        sectors = [best.name for best in review.ideal.sectors.parts]
        names = [review.track, review.driver, *sectors]
        names += [item.lesson.title for item in review.taught]
        return evidence_of(self._asdict(), places, names, told, sectors)


def fragments(review: Review) -> Fragments:
    """The evidence of a session, rounded as it is answered."""
    laps = review.laps.laps
    telemetry: Json = {
        "track": review.track,
        "laps": [{"lap": one.lap_number, "lap_time_s": _r(one.lap_time_s)} for one in laps[:LAPS]],
        "n_laps": len(laps),
        "best_lap": {
            "lap": review.laps.best_lap_number,
            "best_lap_time_s": _r(review.laps.best_lap_s),
        },
        "top_speed_kmh": _r(review.stats.top_speed_kmh, 1),
        "max_combo_g": _r(review.stats.max_combo_g, 2),
        "max_brake_bar": _r(review.stats.max_brake_bar, 1),
        "distance_m": _r(review.stats.distance_m, 0),
        "session_duration_s": _r(review.stats.session_duration_s, 1),
    }
    if review.stats.derived:
        telemetry["derived"] = list(review.stats.derived)
    before = review.best_before_s
    if before is not None:
        telemetry["best_before"] = {"best_lap_time_before_s": _r(before)}
        telemetry["improvement_s"] = _r(before - review.laps.best_lap_s)
    if len(laps) > 1:
        times = [one.lap_time_s for one in laps]
        telemetry["lap_time_spread"] = _r(max(times) - min(times))
        telemetry["ideal_gain_s"] = _r(review.ideal.sectors.gain_s)
    if review.card is not None:
        telemetry["session_grade"] = review.card.letter
        telemetry["corners"] = _corners(review)
        telemetry["costs_most"] = _costs_most(review.card.corners)
        best = best_corner(review.card.corners)
        telemetry["best_corner"] = best.corner if best is not None else None
    telemetry["to_win"] = [facts(one) for one in review.found] or None
    if review.partial:  # what was driven is no lap, and its time no lap time
        del telemetry["laps"], telemetry["best_lap"], telemetry["n_laps"]
    return Fragments(
        {key: value for key, value in telemetry.items() if value is not None},
        [_moment(one) for one in review.moments],
        [_teaching(one) for one in review.taught],
    )


def best_corner(grades: Iterable[CornerGrade]) -> CornerGrade | None:
    """The corner driven best; of equals the one that decides more of the lap."""
    graded = [one for one in grades if one.score is not None]
    return max(graded, key=lambda one: (points(one), one.weight, one.corner), default=None)


def _costs_most(grades: Iterable[CornerGrade]) -> str | None:
    """The corner where the most time is lost; None where losses are of different kinds, or none."""
    lost = [one for one in grades if one.delta_time_s is not None and one.delta_time_s > 0]
    if len({one.basis for one in lost}) != 1:
        return None
    return max(lost, key=lambda one: one.delta_time_s or 0.0).corner


def points(one: CornerGrade) -> float:
    """Its score; 0 without one."""
    return one.score.total if one.score is not None else 0.0


def _corners(review: Review) -> list[Json]:
    assert review.card is not None
    best = best_corner(review.card.corners)
    told = {one.corner for one in review.found}
    chosen = [one for one in costliest(review.card.corners) if one.causes][:CORNERS]
    chosen += [one for one in review.card.corners if one.corner in told and one not in chosen]
    chosen += [best] if best is not None and best not in chosen else []
    return [_corner(one) for one in chosen]


def _corner(one: CornerGrade) -> Json:
    own = one.own
    known: Json = {
        "corner": one.corner,
        "grade": one.letter,
        "score_pct": _r(one.score.total, 4) if one.score else None,
        "lap": own.lap if own else None,
        "n_passes": one.n_passes,
        "basis": one.basis,
        "delta_time_s": _r(one.delta_time_s),
        "apex_speed_kmh": _r(own.apex_speed_kmh, 1) if own else None,
        "apex_delta_kmh": _r(one.apex_delta_kmh, 1),
        "reference_apex_speed_kmh": _less(own.apex_speed_kmh if own else None, one.apex_delta_kmh),
        "exit_speed_kmh": _r(own.exit_speed_kmh, 1) if own else None,
        "exit_delta_kmh": _r(one.exit_delta_kmh, 1),
        "reference_exit_speed_kmh": _less(own.exit_speed_kmh if own else None, one.exit_delta_kmh),
        "brake_point_delta_m": _r(one.brake_point_delta_m, 1),
        "time_loss_attribution": [
            {"cause": it.cause, "seconds_lost": _r(it.seconds_lost), "detail": it.detail}
            for it in one.causes
        ],
    }
    return {key: value for key, value in known.items() if value is not None}


def _moment(one: Moment) -> Json:
    return {
        "id": one.id,
        "title": one.title,
        "category": one.category,
        "severity": one.severity,
        "lap": one.lap,
        "corner": one.corner,
        "narrative_seed": one.narrative_seed,
    }


def _teaching(one: Teaching) -> Json:
    return {
        "concept": one.concept,
        "corner": one.corner,
        "evidence": one.evidence,
        "tip": one.tip,
        "lesson": one.lesson._asdict(),
    }


def _less(own: float | None, delta: float | None) -> float | None:
    return _r(own - delta, 1) if own is not None and delta is not None else None


def _r(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits) + 0.0
