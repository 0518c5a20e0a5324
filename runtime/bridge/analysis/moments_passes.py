"""Passes of corners that stand out, for better or worse."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import NONE, Aim, References, aims

Severity: TypeAlias = Literal["high", "medium", "positive", "engineering"]

OVER_LIMIT_G: Final = 1.6
OVER_REFERENCE: Final = 1.05
LATE_BRAKE_M: Final = 5.0
OVERBRAKED_BAR: Final = 30.0
GENTLE_BAR: Final = 20.0
COAST_S: Final = 0.4
SLOW_EXIT_KMH: Final = 3.0
TRAIL_BAR: Final = 15.0
TRAIL_SHARES: Final = (0.05, 0.20)
IMPROVED_KMH: Final = 2.0
ENOUGH_LAPS: Final = 3
"""So many laps a session needs before its own best passes say what is late, hard or slow."""


class Candidate(NamedTuple):
    """A moment that may become a highlight."""

    category: str
    severity: Severity
    magnitude: float
    """In multiples of the least that counts."""
    frame: int
    """Of the series."""
    t: float
    """Seconds of the session's clock."""
    title: str
    seed: str
    """A sentence with the numbers."""
    corner: str | None = None
    lap: int | None = None
    """None: the complete lap that the frame lies in."""


def pass_candidates(drive: Drive, references: References = NONE) -> Iterator[Candidate]:
    """What stands out in the passes of every corner. Raises `NoGeometry`.

    Comparisons need a reference file, or three complete laps.
    """
    compared = aims(drive, references)
    for name, passes in passes_of(drive).items():
        aim = compared.get(name)
        for one in passes:
            yield from _by_itself(drive, one, aim)
            if aim is not None and aim.own is not one and _tells(drive, aim):
                yield from _compared(drive, one, aim)
        yield from _improved(drive, passes)


def _tells(drive: Drive, aim: Aim) -> bool:
    return aim.basis == "reference_file" or len(drive.counted) >= ENOUGH_LAPS


def _by_itself(drive: Drive, one: Pass, aim: Aim | None) -> Iterator[Candidate]:
    usual = aim.target.max_combo_g if aim is not None else None
    limit = max(OVER_LIMIT_G, OVER_REFERENCE * usual if usual is not None else 0.0)
    if one.max_combo_g is not None and one.max_combo_g > limit:
        seed = f"{one.max_combo_g:.2f} g in {one.corner}, where {limit:.2f} g is a lot."
        magnitude = one.max_combo_g / limit
        yield _at(
            drive, one, "over_limit_in_corner", "high", magnitude, "Over the limit in {}", seed
        )
    coast = one.coast_seconds or 0.0
    if coast > COAST_S:
        seed = f"{coast:.1f} s of coasting in {one.corner}."
        yield _at(drive, one, "coast_in_corner", "medium", coast / COAST_S, "Coasting in {}", seed)
    peak, apex = one.peak_brake_bar, one.trail_brake_bar_at_apex
    low, high = TRAIL_SHARES
    if peak is not None and apex is not None and peak > TRAIL_BAR and low <= apex / peak <= high:
        seed = f"From {peak:.0f} bar to {apex:.1f} bar at the apex of {one.corner}."
        yield _at(
            drive,
            one,
            "clean_trail_brake",
            "positive",
            peak / TRAIL_BAR,
            "Clean release in {}",
            seed,
        )


def _compared(drive: Drive, one: Pass, aim: Aim) -> Iterator[Candidate]:
    target = aim.target
    usual_pass = "the reference" if aim.basis == "reference_file" else "the quickest pass"
    if one.brake_point_m is not None and target.brake_point_m is not None:
        later = target.brake_point_m - one.brake_point_m
        if later > LATE_BRAKE_M:
            seed = f"Braked {later:.0f} m later than {usual_pass} into {one.corner}."
            yield _at(
                drive,
                one,
                "late_brake_vs_reference",
                "high",
                later / LATE_BRAKE_M,
                "Late braking into {}",
                seed,
            )
    peak, usual = one.peak_brake_bar, target.peak_brake_bar
    if peak is not None and usual is not None and peak > OVERBRAKED_BAR and usual < GENTLE_BAR:
        seed = f"{peak:.0f} bar into {one.corner}, where {usual:.0f} bar are enough."
        magnitude = peak / OVERBRAKED_BAR
        yield _at(
            drive,
            one,
            "overbraked_vs_reference",
            "medium",
            magnitude,
            "Too much brake for {}",
            seed,
        )
    if one.exit_speed_kmh is not None and target.exit_speed_kmh is not None:
        slower = target.exit_speed_kmh - one.exit_speed_kmh
        if slower > SLOW_EXIT_KMH:
            seed = f"{slower:.1f} km/h less than {usual_pass} at the exit of {one.corner}."
            magnitude = slower / SLOW_EXIT_KMH
            yield _at(
                drive, one, "slow_exit_vs_reference", "medium", magnitude, "Slow exit of {}", seed
            )


def _improved(drive: Drive, passes: Sequence[Pass]) -> Iterator[Candidate]:
    """The later pass that left the corner fastest, beside the first one."""
    known = [(one.exit_speed_kmh, one) for one in passes if one.exit_speed_kmh is not None]
    if len(known) < 2:
        return
    first = known[0][0]
    speed, best = max(known[1:], key=lambda pair: (pair[0], -pair[1].t_entry))
    gain = speed - first
    if gain > IMPROVED_KMH:
        seed = f"{gain:.1f} km/h more at the exit of {best.corner} than in the first pass."
        magnitude = gain / IMPROVED_KMH
        yield _at(
            drive, best, "improved_vs_first_pass", "positive", magnitude, "Better exit of {}", seed
        )


def _at(
    drive: Drive,
    one: Pass,
    category: str,
    severity: Severity,
    magnitude: float,
    title: str,
    seed: str,
) -> Candidate:
    """A candidate at the apex of a pass."""
    return Candidate(
        category=category,
        severity=severity,
        magnitude=magnitude,
        frame=one.apex_frame,
        t=float(drive.series.t[one.apex_frame]),
        title=title.format(one.corner),
        seed=seed,
        corner=one.corner,
        lap=one.lap,
    )
