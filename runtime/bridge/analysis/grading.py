"""Grades of corners from A to F, causes of lost time, and the scorecard of a session."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoSuchLap, once_per_drive
from runtime.bridge.analysis.losses import WORTH_S, Loss, find_figures, measure_losses_to_best
from runtime.bridge.analysis.passes import Pass, choose_usual, list_passes, sort_by_time, subtract
from runtime.bridge.analysis.reference import (
    NONE,
    Aim,
    Basis,
    References,
    Taken,
    find_aims,
    find_basis,
)
from runtime.bridge.session.definitions import CLOSED_PCT
from runtime.bridge.session.ranking import format_time
from runtime.bridge.session.units import Seconds
from runtime.bridge.track.model import DANGERS, Corner, DangerZone, Track

AROUND_M: Final = 100.0
"""A danger within this distance of a corner belongs to it."""
LEAST_S: Final = 0.05
"""A smaller loss is not attributed."""
OFF: Final = f"brake off, throttle under {CLOSED_PCT:.0f} %"
"""What counts as coasting in a pass; the throttle may be held below that."""
ADVICE: Final = {
    "early_brake": "brake later: {}",
    "late_brake": "brake a little earlier to have the car settled at turn-in: {}",
    "low_apex_speed": "carry more speed to the apex: {}",
    "low_exit_speed": "open the car up sooner for the exit: {}",
    "early_lift": "be fuller on the throttle at the exit: {}",
    "coast_in_corner": "stay on a pedal through the corner: {}",
    "nothing_time": "go from brake to throttle without a pause: {}",
    "exit_understeer": "calm the hands and wait with the throttle until the car points out: {}",
}
BOLD: Final = frozenset({"early_brake", "low_apex_speed", "low_exit_speed", "early_lift"})
"""Causes whose remedy is more speed or a later brake point."""
STEADY: Final = "keep your usual speed and brake point, for a danger zone lies there"
"""The advice for them where mistakes are punished."""
CALM: Final = frozenset({"late_brake", "coasting"})
"""Causes of a `Loss` whose remedy needs no more speed: the only ones to fix where mistakes are
punished."""
LEAVING: Final = frozenset({"late_throttle", "part_throttle", "slow_exit"})
"""Causes whose remedy needs more speed only after the apex."""
REMEDY: Final[Mapping[str, str]] = {
    "early_brake": "brake later: {:.0f} m earlier than on the best lap",
    "early_slowing": "hold the speed a little longer: it fell {:.0f} m earlier than on the "
    "best lap",
    "long_brake": "brake shorter and harder at first: {:.0f} bar less than on the best lap",
    "late_brake": "brake a little earlier to have the car settled at turn-in: {:.0f} m later than "
    "on the best lap",
    "coasting": "stay on a pedal through the corner: {:.1f} s more coasting than on the best lap",
    "slow_apex": "carry more speed to the apex: {:.1f} km/h less than on the best lap",
    "slow_entry": "sort the exit of the corner before: {:.1f} km/h less than on the best lap",
    "late_throttle": "unwind the steering, then go to power earlier: {:.0f} m later than on the "
    "best lap",
    "part_throttle": "squeeze the throttle on to full in one go: {:.0f} m later than on the best "
    "lap",
    "slow_exit": "open the car up sooner for the exit: {:.1f} km/h less than on the best lap",
    "match": "drive it as on the best lap: it costs {:.2f} s",
    "steady": STEADY,
}
"""The advice for a loss, by `cause_to_mend`."""
Letter: TypeAlias = Literal["A", "B", "C", "D", "F"]
LETTERS: Final[tuple[tuple[float, Letter], ...]] = (
    (0.95, "A"),
    (0.90, "B"),
    (0.80, "C"),
    (0.70, "D"),
)
FULL_MARKS: Final = 0.98
GOOD: Final = 0.90
"""From this score on, a corner was driven well."""
FREE_GAP: Final = 0.05
"""A smaller gap costs nothing."""
WORST_GAP: Final = 0.30
IDLE_S: Final = 1.5
"""This long on neither pedal scores nothing."""
WITHIN_S: Final = 0.5
MEANINGFUL_S: Final = 2.0
NAMED: Final = 3
ENTRY, APEX, EXIT, TIME, TRAIL, NOTHING = 0.10, 0.25, 0.30, 0.15, 0.05, 0.15
"""The weight of each part of a score."""
SINGLE: Final = "single_pass_no_reference"


def find_zones(corner: Corner, track: Track | None) -> list[DangerZone]:
    """Find the danger zones at a corner, from 100 m before it, or from where a good lap brakes for
    it if that is earlier, to 100 m after it, the most severe first."""
    braked = corner.brake.before_entry_m if corner.brake else 0.0
    return _zones(corner.entry.distance_m - max(AROUND_M, braked), corner, track)


def _zones(begin: float, corner: Corner, track: Track | None) -> list[DangerZone]:
    """Find the danger zones from *begin* to 100 m after the corner, the most severe first."""
    if track is None:
        return []
    length = track.length_m
    reach = (corner.exit.distance_m + AROUND_M - begin) % length
    zones = [
        zone
        for zone in track.danger_zones
        if (zone.start_m - begin) % length <= reach
        or (begin - zone.start_m) % length <= (zone.end_m - zone.start_m) % length
    ]
    return sorted(zones, key=lambda zone: DANGERS.index(zone.severity))


@once_per_drive
def find_dangers(drive: Drive) -> Mapping[str, DangerZone]:
    """Return the most severe danger zone of each corner with any. Raises `NoCorners`."""
    zones = {corner.name: find_zones(corner, drive.track) for corner in drive.corners}
    return {name: there[0] for name, there in zones.items() if there}


def may_mend(cause: str, corner: Corner, track: Track | None) -> bool:
    """Whether a driver may be asked to fix a cause of lost time in a corner.

    At a danger zone nobody is asked for more speed; for an earlier throttle only if the whole zone
    is passed before the apex.
    """
    if cause in CALM or not find_zones(corner, track):
        return True
    return cause in LEAVING and not _zones(corner.apex.distance_m, corner, track)


def cause_to_mend(drive: Drive, loss: Loss) -> str:
    """Return the cause to fix first: the largest that has a target figure and may be fixed.
    Without one ``match``, in a danger zone ``steady``; ``none`` without a loss."""
    corner = drive.corner(loss.corner)
    for cause, _ in loss.causes:
        if find_figures(loss, cause) is not None and may_mend(cause, corner, drive.track):
            return cause
    if loss.corner in find_dangers(drive):
        return "steady"
    return "match" if loss.seconds >= WORTH_S else "none"


@dataclass(frozen=True, slots=True)
class TimeLoss:
    """A part of the time that a pass lost."""

    cause: str
    """early_brake, late_brake, low_apex_speed, low_exit_speed, early_lift, coast_in_corner,
    nothing_time or exit_understeer"""
    seconds_lost: Seconds
    """s; all causes together are no more than the loss"""
    detail: str
    """what the driver did, in numbers"""


class _Found(NamedTuple):
    cause: str
    seconds: float
    share: float
    """The largest share of the loss that the cause may explain."""
    detail: str


def filter_calm(causes: tuple[TimeLoss, ...]) -> tuple[TimeLoss, ...]:
    """Filter the causes whose remedy needs no more speed."""
    return tuple(loss for loss in causes if loss.cause not in BOLD)


def attribute_loss(own: Pass, target: Taken) -> tuple[TimeLoss, ...]:
    """Split the loss against *target* into causes, the largest first.

    None for 0.05 s or less. Each cause explains at most its share of the loss, and all together at
    most the loss.
    """
    loss = own.corner_time_s - target.corner_time_s
    if not loss > LEAST_S:
        return ()
    losses = (*_pedal_losses(own, target), *_speed_losses(own, target), *_own_losses(own))
    parts = [(part, min(part.seconds, part.share * loss)) for part in losses]
    total = sum(seconds for _, seconds in parts)
    scale = min(1.0, loss / total) if total > 0 else 1.0
    causes = (TimeLoss(part.cause, seconds * scale, part.detail) for part, seconds in parts)
    return tuple(sorted(causes, key=lambda cause: -cause.seconds_lost))


def phrase_advice(
    corner: str, causes: tuple[TimeLoss, ...], *, good: bool = True, danger: bool = False
) -> str:
    """Write one sentence for the driver: advice on the largest cause, or praise without any.

    *causes* come from `attribute_loss`; *good*: the corner has a good grade; *danger*: mistakes are
    punished there. If the usual lap loses time, `phrase_remedy` is used instead.
    """
    if causes and danger:
        first = next(iter(filter_calm(causes)), None)
        advice = ADVICE[first.cause].format(first.detail) if first is not None else STEADY
        return f"{corner}: {advice}."
    if not causes:
        return f"{corner}: {'well driven' if good else 'no time lost here'}, do the same again."
    return f"{corner}: {ADVICE[causes[0].cause].format(causes[0].detail)}."


def phrase_remedy(drive: Drive, loss: Loss) -> str:
    """Write one sentence for the driver: advice on a loss compared with the best lap."""
    cause = cause_to_mend(drive, loss)
    amount = dict(loss.causes).get(cause, loss.seconds)
    return f"{loss.corner}: {REMEDY[cause].format(abs(amount))}."


def _pedal_losses(own: Pass, target: Taken) -> Iterator[_Found]:
    """Compare braking and throttle with the target's."""
    if own.brake_point_m is not None and target.brake_point_m is not None:
        earlier = own.brake_point_m - target.brake_point_m
        if earlier > 5:
            detail = f"the brakes came {earlier:.0f} m early"
            yield _Found("early_brake", 0.04 * earlier / 5, 0.3, detail)
        if earlier < -3:
            detail = f"the brakes came {-earlier:.0f} m late"
            yield _Found("late_brake", 0.05 * -earlier / 5, 0.4, detail)
    lifted = _less(own.throttle_at_exit_pct, target.throttle_at_exit_pct)
    if lifted > 15:
        detail = f"the throttle was {lifted:.0f} points lower at the exit"
        yield _Found("early_lift", 0.001 * lifted, 0.3, detail)


def _speed_losses(own: Pass, target: Taken) -> Iterator[_Found]:
    apex = _less(own.apex_speed_kmh, target.apex_speed_kmh)
    if apex > 1.5:
        detail = f"{apex:.1f} km/h were missing at the apex"
        yield _Found("low_apex_speed", 0.025 * apex, 0.5, detail)
    leave = _less(own.exit_speed_kmh, target.exit_speed_kmh)
    if leave > 1.5:
        detail = f"{leave:.1f} km/h were missing at the exit"
        yield _Found("low_exit_speed", 0.05 * leave, 0.6, detail)


def _own_losses(own: Pass) -> Iterator[_Found]:
    """Yield the losses within the pass itself, without a target."""
    coast, nothing = own.coast_seconds or 0.0, own.nothing_time_s or 0.0
    if coast > 0.2:
        detail = f"the car coasted for {coast:.1f} s ({OFF})"
        yield _Found("coast_in_corner", 0.85 * coast, 0.5, detail)
    if nothing > 0.3:
        detail = f"{nothing:.1f} s passed between the brake and the throttle"
        yield _Found("nothing_time", 0.6 * nothing, 0.4, detail)
    corrections = own.steering_corrections or 0
    if corrections >= 3:
        detail = f"the steering was corrected {corrections} times"
        yield _Found("exit_understeer", 0.04 * corrections, 0.25, detail)


def _less(own: float | None, target: float | None) -> float:
    """Return how much smaller the own value is; 0 if either is unknown."""
    return target - own if own is not None and target is not None else 0.0


class Score(NamedTuple):
    """The score of a pass."""

    total: float
    """The weighted mean of the known parts, each from 0 to 1."""
    graded_on: tuple[str, ...]
    """The known parts; the others lack a channel."""
    trail_brake: float | None
    """The share of the reference's pressure that was kept to the apex, from 0 to 1."""


class CornerGrade(NamedTuple):
    """The graded pass of a corner; differences are pass minus reference."""

    corner: str
    weight: float
    """Share of lap time that the corner decides; all add up to 1."""
    n_passes: int
    own: Pass | None = None
    """The graded pass; None for a corner that was never driven whole."""
    target: Taken | None = None
    """The pass it is compared with."""
    basis: Basis | None = None
    score: Score | None = None
    letter: Letter | None = None
    detail: str | None = None
    """A+ for full marks, else the letter."""
    ungraded: str | None = None
    """Why there is no grade, though there is a pass."""
    delta_time_s: float | None = None
    entry_delta_kmh: float | None = None
    apex_delta_kmh: float | None = None
    exit_delta_kmh: float | None = None
    brake_point_delta_m: float | None = None
    """Positive: braked earlier."""
    causes: tuple[TimeLoss, ...] = ()
    phrase: str = ""
    danger: bool = False
    """Whether there is a danger zone, where nobody is asked for more speed."""


class Scorecard(NamedTuple):
    """The grades of a session."""

    n_laps: int
    best_lap_s: float
    reference_lap_s: float | None
    basis: Basis
    letter: Letter | None
    total: float | None
    """The mean of the scores by weight, 0 to 1."""
    summary: str
    corners: tuple[CornerGrade, ...]
    """In lap order."""


def score_pass(own: Taken, target: Taken) -> Score:
    """Score a pass against *target*.

    A speed or a time within 5 % of the target scores in full, 30 % off scores nothing; being
    faster costs nothing. Unknown parts leave their weight to the others.
    """
    late = max(0.0, own.corner_time_s - target.corner_time_s) / own.corner_time_s
    parts = {
        "entry_speed": (ENTRY, _speed(own.entry_speed_kmh, target.entry_speed_kmh)),
        "apex_speed": (APEX, _speed(own.apex_speed_kmh, target.apex_speed_kmh)),
        "exit_speed": (EXIT, _speed(own.exit_speed_kmh, target.exit_speed_kmh)),
        "corner_time": (TIME, _points(late)),
        "trail_brake": (TRAIL, _trail(own.trail_brake_bar_at_apex, target.trail_brake_bar_at_apex)),
        "nothing_time": (NOTHING, _idle(own.nothing_time_s)),
    }
    parts_known = {
        name: (weight, points) for name, (weight, points) in parts.items() if points is not None
    }
    weights = sum(weight for weight, _ in parts_known.values())
    total = sum(weight * points for weight, points in parts_known.values()) / weights
    return Score(total, tuple(parts_known), parts["trail_brake"][1])


def choose_letter(total: float) -> Letter:
    """Return A from 0.95, B from 0.90, C from 0.80, D from 0.70, else F."""
    return next((name for least, name in LETTERS if total >= least), "F")


def grade_in_detail(total: float) -> str:
    """Return the letter, with A+ from 0.98."""
    return "A+" if total >= FULL_MARKS else choose_letter(total)


def _points(gap: float) -> float:
    return 1.0 if gap < FREE_GAP else max(0.0, 1.0 - gap / WORST_GAP)


def _speed(own: float | None, target: float | None) -> float | None:
    if own is None or target is None:
        return None
    return _points(max(0.0, target - own) / target) if target > 0 else 1.0


def _trail(own: float | None, target: float | None) -> float | None:
    """Score the brake pressure kept to the apex."""
    if own is None or target is None:
        return None
    return 1.0 if target == 0 else min(own / max(target, 1.0), 1.0)


def _idle(nothing_time_s: float | None) -> float | None:
    return None if nothing_time_s is None else max(0.0, 1.0 - nothing_time_s / IDLE_S)


def weigh_corners(drive: Drive) -> dict[str, float]:
    """Return the share of lap time that each corner decides; all add up to 1. Raises `NoCorners`.

    From the track file if it has all of them; else 0.5 plus half the ratio of the straight after
    the corner to the longest such straight.
    """
    corners = drive.corners
    shares = [corner.leverage for corner in corners if corner.leverage is not None]
    if len(shares) < len(corners) or sum(shares) <= 0:
        length = drive.length_m
        bounds = [
            (corner.entry.distance_m, (corner.exit.distance_m - corner.entry.distance_m) % length)
            for corner in corners
        ]
        behind = [
            _free(entry + span, span, bounds[(at + 1) % len(bounds)][0], length)
            for at, (entry, span) in enumerate(bounds)
        ]
        longest = max(behind, default=0.0)
        shares = [0.5 + 0.5 * (way / longest if longest > 0 else 0.0) for way in behind]
    total = sum(shares)
    return {corner.name: share / total for corner, share in zip(corners, shares, strict=True)}


def _free(end: float, span: float, entry: float, length: float) -> float:
    """Return metres from the exit of a corner to the entry of the next; 0 if they overlap."""
    way = (entry - end) % length
    return way if way <= length - span else 0.0


def grade_session(drive: Drive, references: References = NONE, lap: int | None = None) -> Scorecard:
    """Grade every corner and the session.

    Against a reference file the best pass of a corner is graded; against the session's own best
    pass the usual one, whose time is the median, so that the grade shows how repeatable it is.
    With *lap*, the passes of that lap are graded. The advice is on the loss compared with the best
    lap, if there is one. Raises `NoCorners` and `NoSuchLap`.
    """
    if lap is not None and all(counted_lap.number != lap for counted_lap in drive.counted):
        raise NoSuchLap
    passes, shares = list_passes(drive), weigh_corners(drive)
    compared = find_aims(drive, references)
    risky = find_dangers(drive)
    losses = {e.corner: e for e in measure_losses_to_best(drive, lap) if e.seconds >= WORTH_S}
    grades = [
        _grade(name, shares[name], corner_passes, compared.get(name), lap, danger=name in risky)
        for name, corner_passes in passes.items()
    ]
    for at, grade in enumerate(grades):
        if grade.corner in losses:
            grades[at] = grade._replace(phrase=phrase_remedy(drive, losses[grade.corner]))
    reference = references.of(drive.track)
    basis = find_basis(drive, references)
    lap_s = reference.lap_time_s if reference and basis == "reference_file" else None
    graded = [grade for grade in grades if grade.score is not None]
    weight = sum(grade.weight for grade in graded)
    total = None
    if weight > 0:
        total = sum(grade.weight * grade.score.total for grade in graded if grade.score) / weight
    return Scorecard(
        n_laps=len(drive.counted),
        best_lap_s=drive.best.duration_s,
        reference_lap_s=lap_s,
        basis=basis,
        letter=choose_letter(total) if total is not None else None,
        total=total,
        summary=_summary(drive, lap, lap_s, graded),
        corners=tuple(grades),
    )


def _grade(
    name: str,
    weight: float,
    passes: Sequence[Pass],
    aim: Aim | None,
    lap: int | None,
    *,
    danger: bool,
) -> CornerGrade:
    own = [passage for passage in passes if lap is None or passage.lap == lap]
    if aim is None or not own:
        return CornerGrade(name, weight, len(passes), danger=danger)
    if aim.basis == "session_best" and len(passes) < 2:
        return CornerGrade(
            name, weight, len(passes), sort_by_time(own)[0], ungraded=SINGLE, danger=danger
        )
    graded = choose_usual(sort_by_time(own))
    if aim.basis == "reference_file":
        graded = max(sort_by_time(own), key=lambda passage: score_pass(passage, aim.target).total)
    points = score_pass(graded, aim.target)
    causes = attribute_loss(graded, aim.target)
    return CornerGrade(
        corner=name,
        weight=weight,
        n_passes=len(passes),
        own=graded,
        target=aim.target,
        basis=aim.basis,
        score=points,
        letter=choose_letter(points.total),
        detail=grade_in_detail(points.total),
        delta_time_s=graded.corner_time_s - aim.target.corner_time_s,
        entry_delta_kmh=subtract(graded.entry_speed_kmh, aim.target.entry_speed_kmh),
        apex_delta_kmh=subtract(graded.apex_speed_kmh, aim.target.apex_speed_kmh),
        exit_delta_kmh=subtract(graded.exit_speed_kmh, aim.target.exit_speed_kmh),
        brake_point_delta_m=subtract(graded.brake_point_m, aim.target.brake_point_m),
        causes=causes,
        phrase=phrase_advice(name, causes, good=points.total >= GOOD, danger=danger),
        danger=danger,
    )


def sort_by_cost(grades: Sequence[CornerGrade]) -> list[CornerGrade]:
    """Sort the corners that cost time, the costliest first.

    The usual pass counts against the best one, or the best pass against a reference.
    """
    costly = [
        grade for grade in grades if grade.delta_time_s is not None and grade.delta_time_s > 0
    ]
    return sorted(costly, key=lambda grade: -(grade.delta_time_s or 0.0))


def _summary(
    drive: Drive, lap: int | None, reference_s: float | None, graded: Sequence[CornerGrade]
) -> str:
    """Summarise the session, or *lap*, in one sentence."""
    if not graded:
        return "There is no reference and no second pass to compare with, so nothing is graded."
    if reference_s is not None:
        time_s = next(
            (e.duration_s for e in drive.counted if e.number == lap), drive.best.duration_s
        )
        gap = time_s - reference_s
        subject = f"The best lap of {format_time(time_s)}"
        against = "the reference"
    else:
        gap = sum(max(grade.delta_time_s or 0.0, 0.0) for grade in graded)
        subject, against = "The usual pass of every corner together", "the best passes"
    if lap is not None:
        subject = f"Lap {lap}"
    if gap < WITHIN_S:
        near = f"is {-gap:.3f} s ahead of" if gap < 0 else f"is within {gap:.3f} s of"
        return f"{subject} {near} {against}."
    if gap < MEANINGFUL_S:
        return f"{subject} has a meaningful gap of {gap:.3f} s to {against}."
    names = [grade.corner for grade in sort_by_cost(graded)[:NAMED]]
    where = f"; most is to be found in {_join_names(names)}" if names else ""
    return f"{subject} is {gap:.3f} s behind {against}{where}."


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
