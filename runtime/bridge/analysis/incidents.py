"""Moments in which something went wrong, or nearly did."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.incidents_spin import Road, spins
from runtime.bridge.analysis.windows import runs
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Numbers, Samples
from runtime.bridge.session.series import DAY_S, Flags

Kind: TypeAlias = Literal[
    "over_g", "off_line", "spin", "stopped", "hard_deceleration", "abs_active", "tc_active"
]
Severity: TypeAlias = Literal["high", "medium", "low"]

OVER_G: Final = 2.0
OFF_LINE_M: Final = 8.0
OFF_LINE_S: Final = 0.5
MOVING_MS: Final = 5.0
STANDING_MS: Final = 2.0
STANDING_S: Final = 3.0
HARD_G: Final = -1.5
NOT_BRAKING_BAR: Final = 5.0
ASSIST_S: Final = 0.3
ASSIST_ON: Final = 0.5
HELD_S: Final = 1.0
"""So long a sample of an assistance signal stands, where no later one comes."""
MERGED_S: Final = 5.0
ASSISTS: Final[tuple[Kind, ...]] = ("abs_active", "tc_active")
"""Signals outside the frames that say an assistance system is at work."""
_SEVERITY: Final[dict[Kind, Severity]] = {
    "over_g": "high",
    "off_line": "high",
    "spin": "high",
    "stopped": "high",
    "hard_deceleration": "high",
    "abs_active": "low",
    "tc_active": "low",
}


class Active(NamedTuple):
    """A stretch in which an assistance system was at work; seconds of the session's clock."""

    kind: Kind
    t_start: float
    t_end: float


class Incident(NamedTuple):
    """One event, or several of a kind less than 5 s apart."""

    kind: Kind
    severity: Severity
    frame: int
    """Of the series: where it was worst."""
    t_start: float
    """Seconds of the session's clock, as is *t_end*."""
    t_end: float
    magnitude: float
    """The worst value in multiples of what makes it an incident."""
    reason: str
    """A sentence."""
    lap: int | None
    """The complete lap of the worst frame; None outside."""


class _Event(NamedTuple):
    kind: Kind
    first: int
    last: int
    """The last frame of it."""
    frame: int
    magnitude: float
    reason: str


def incidents(drive: Drive, active: Sequence[Active] = ()) -> tuple[Incident, ...]:
    """What happened in the frames looked at, by time, then by kind.

    *active* says when assistance systems worked. A kind whose channels were not recorded is not
    looked for; leaving the line and standing still count inside complete laps only, since the way
    through the pits is neither.
    """
    events = [
        *_over_g(drive),
        *_off_line(drive),
        *_spins(drive),
        *_stopped(drive),
        *_hard(drive),
        *_assisted(drive, active),
    ]
    begin, end = drive.frames.start, drive.frames.stop
    return tuple(_merged(drive, [one for one in events if begin <= one.frame < end]))


def activity(samples: dict[str, Samples]) -> tuple[Active, ...]:
    """When assistance systems worked: their signal above 0.5 for 0.3 s or longer.

    A sample stands until the next one, for a second at most. By kind, then by time.
    """
    found = []
    for kind in ASSISTS:
        if kind not in samples or not len(samples[kind].t):
            continue
        t, value = samples[kind]
        until = np.append(np.minimum(t[1:], t[:-1] + HELD_S), t[-1] + HELD_S)
        silent = t[1:] - t[:-1] > HELD_S
        for first, last in _stretches(value > ASSIST_ON, silent):
            begin, end = float(t[first]), float(until[last])
            if end - begin >= ASSIST_S:
                found.append(Active(kind, begin, end))
    return tuple(found)


def _stretches(flags: Flags, broken: Flags) -> Iterator[tuple[int, int]]:
    """First and last index of each stretch of True."""
    begins, ends = runs(flags, broken)
    yield from zip(begins.tolist(), (ends - 1).tolist(), strict=True)


def _over_g(drive: Drive) -> Iterator[_Event]:
    combo = drive.series.combo_g
    for first, last in _stretches(combo > OVER_G, drive.series.gap):
        worst = first + int(combo[first : last + 1].argmax())
        most = float(combo[worst])
        reason = f"combined acceleration reached {most:.2f} g"
        yield _Event("over_g", first, last, worst, most / OVER_G, reason)


def _off_line(drive: Drive) -> Iterator[_Event]:
    offset = np.abs(drive.progress.offset)
    half_width = drive.track.half_width_m if drive.track is not None else 0.0
    limit = max(half_width, OFF_LINE_M)
    off = (offset > limit) & (drive.series["speed_ms"] > MOVING_MS) & (drive.lap_of > 0)
    for first, last in _lasting(drive, off, OFF_LINE_S):
        worst = first + int(offset[first : last + 1].argmax())
        most = float(offset[worst])
        reason = f"the car was {most:.1f} m beside the line"
        yield _Event("off_line", first, last, worst, most / limit, reason)


def _stopped(drive: Drive) -> Iterator[_Event]:
    standing = (drive.series["speed_ms"] < STANDING_MS) & (drive.lap_of > 0)
    for first, last in _lasting(drive, standing, STANDING_S):
        seconds = float(drive.series.t[last] - drive.series.t[first])
        reason = f"the car stood for {seconds:.1f} s in a lap"
        yield _Event("stopped", first, last, first, seconds / STANDING_S, reason)


def _hard(drive: Drive) -> Iterator[_Event]:
    series = drive.series
    g_long = series["g_long"]
    hard = (g_long < HARD_G) & (series["brake_bar"] < NOT_BRAKING_BAR)
    for first, last in _stretches(hard, series.gap):
        worst = first + int(g_long[first : last + 1].argmin())
        least = float(g_long[worst])
        reason = f"the car slowed with {-least:.2f} g, hardly on the brakes"
        yield _Event("hard_deceleration", first, last, worst, least / HARD_G, reason)


def _spins(drive: Drive) -> Iterator[_Event]:
    path = drive.track.line.ring if drive.track is not None and drive.track.line else None
    known = path is not None and drive.progress.basis == "line"
    road = Road(path, drive.progress.p) if path is not None and known else None
    for one in spins(drive.series, road):
        reason = f"the course turned by {one.turned_deg:.0f} degrees while the speed fell"
        magnitude = one.turned_deg / one.limit_deg
        yield _Event("spin", one.first, one.last, one.first, magnitude, reason)


def _assisted(drive: Drive, active: Sequence[Active]) -> Iterator[_Event]:
    t = drive.series.t
    for one in active:
        # The series goes on counting after midnight, which other signals do not know.
        day = DAY_S if one.t_end < t[0] - DAY_S / 2 else 0.0
        first, last = _nearest(t, np.array([one.t_start, one.t_end]) + day).tolist()
        seconds = one.t_end - one.t_start
        name = "anti-lock brakes" if one.kind == "abs_active" else "traction control"
        reason = f"{name} worked for {seconds:.1f} s"
        yield _Event(one.kind, first, last, first, seconds / ASSIST_S, reason)


def _nearest(t: Numbers, moments: Numbers) -> Indices:
    after = np.clip(np.searchsorted(t, moments), 1, max(len(t) - 1, 1))
    after -= moments - t[after - 1] <= t[np.minimum(after, len(t) - 1)] - moments
    return after


def _lasting(drive: Drive, flags: Flags, seconds: float) -> Iterator[tuple[int, int]]:
    """The stretches whose first and last frame are so far apart."""
    t = drive.series.t
    for first, last in _stretches(flags, drive.series.gap):
        if t[last] - t[first] >= seconds:
            yield first, last


def _merged(drive: Drive, events: list[_Event]) -> Iterator[Incident]:
    """Those of a kind that follow each other within 5 s as one, which is as bad as the worst."""
    t = drive.series.t
    groups: list[list[_Event]] = []
    for one in sorted(events, key=lambda one: (one.kind, one.first)):
        if groups and groups[-1][-1].kind == one.kind:
            ended = max(t[event.last] for event in groups[-1])
            if t[one.first] - ended < MERGED_S:
                groups[-1].append(one)
                continue
        groups.append([one])
    for group in sorted(groups, key=lambda group: (group[0].first, group[0].kind)):
        worst = max(group, key=lambda one: one.magnitude)
        yield Incident(
            kind=worst.kind,
            severity=_SEVERITY[worst.kind],
            frame=worst.frame,
            t_start=float(t[group[0].first]),
            t_end=float(max(t[one.last] for one in group)),
            magnitude=worst.magnitude,
            reason=worst.reason,
            lap=int(drive.lap_of[worst.frame]) or None,
        )
