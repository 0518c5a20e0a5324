"""Reference laps: the laps that corners are compared with, and their files."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import AfterValidator, TypeAdapter, ValidationError

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, list_passes, measure_approaches, sort_by_time
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.names import slugify
from runtime.bridge.session.progress import unwrap
from runtime.bridge.track.file import describe_fault, load_json, read_file, read_folder, write_file
from runtime.bridge.track.model import Note, Number, Text, Track, TrackError

Basis: TypeAlias = Literal["reference_file", "session_best"]
LARGEST: Final = 1e5
log = logging.getLogger(__name__)


def _above_zero(seconds: float) -> float:
    if seconds <= 0:
        raise ValueError("must be above 0")
    return seconds


Metric: TypeAlias = Annotated[float, Number(0, LARGEST, digits=4)]
Signed: TypeAlias = Annotated[float, Number(-LARGEST, LARGEST, digits=4)]
Duration: TypeAlias = Annotated[float, Number(0, LARGEST, digits=4), AfterValidator(_above_zero)]


@dataclass(frozen=True)
class Target:
    """A corner in the reference lap; the fields are those of `Pass`, None if unknown."""

    corner_time_s: Duration
    """From *approach_m* before the entry to the exit."""
    approach_m: Metric | None = None
    """None: from the entry, as braking is unknown."""
    approach_times_s: tuple[Metric, ...] = ()
    """Seconds from 0, 10, 20 m and so on before the entry to the entry."""
    entry_speed_kmh: Metric | None = None
    apex_speed_kmh: Metric | None = None
    exit_speed_kmh: Metric | None = None
    min_speed_kmh: Metric | None = None
    peak_brake_bar: Metric | None = None
    brake_point_m: Signed | None = None
    brake_release_m: Signed | None = None
    trail_brake_bar_at_apex: Metric | None = None
    throttle_at_exit_pct: Metric | None = None
    max_g_lat: Metric | None = None
    max_combo_g: Metric | None = None
    coast_seconds: Metric | None = None
    steering_corrections: Metric | None = None
    nothing_time_s: Metric | None = None
    entry_distance_m: Metric | None = None
    """Metres of the lap, like apex and exit."""
    apex_distance_m: Metric | None = None
    exit_distance_m: Metric | None = None


STEP_M: Final = 10.0
"""The step between a reference's approach times."""
METRICS: Final = tuple(column.name for column in fields(Target) if hasattr(Pass, column.name))
"""The fields that a reference lap takes from a pass."""
Taken: TypeAlias = Pass | Target
"""How a corner was taken: in a session, or by a reference."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReferenceLap:
    """A lap worth comparing with."""

    track: Text
    """Id or name of its circuit."""
    source_file: Note = ""
    """Its source."""
    lap_time_s: Duration
    total_distance_m: Metric | None = None
    n_frames: Annotated[int, Number(0, 10**9)] | None = None
    max_combo_g: Metric | None = None
    """The largest combined acceleration of the lap."""
    corners: dict[str, Target]
    """By name; at least one."""


FILE: Final = TypeAdapter(ReferenceLap)


@dataclass(frozen=True, eq=False)
class References:
    """The known reference laps, by id of their circuit."""

    laps: Mapping[str, ReferenceLap] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why a file is not a reference lap, by the id of the circuit."""

    def of(self, track: Track | None) -> ReferenceLap | None:
        """Return the lap of a circuit; None without one, or if the file is for another circuit."""
        lap = self.laps.get(track.id) if track is not None else None
        if lap is None or track is None:
            return None
        return lap if slugify(lap.track) in (slugify(track.id), slugify(track.name)) else None


NONE: Final = References()


class Aim(NamedTuple):
    """The pass or target that one corner is compared with."""

    target: Taken
    basis: Basis
    own: Pass | None = None
    """The session's pass, if the target is one."""


def find_aims(drive: Drive, references: References = NONE) -> dict[str, Aim]:
    """Find what each corner is compared with, if there is anything.

    The reference file if it names the corner, else the session's own quickest pass; of equal ones
    the earliest. Raises `NoCorners`.
    """
    lap = references.of(drive.track)
    aims: dict[str, Aim] = {}
    for name, passes in list_passes(drive).items():
        if lap is not None and name in lap.corners:
            target = match_timing(lap.corners[name], measure_approaches(drive)[name], passes)
            aims[name] = Aim(target, "reference_file")
        elif passes:
            best = sort_by_time(passes)[0]
            aims[name] = Aim(best, "session_best", best)
    return aims


def match_timing(target: Target, approach_m: float, passes: Sequence[Pass]) -> Target:
    """Time a reference's corner from *approach_m* before its entry, like the *passes*.

    A file without approach times counts as level with the quickest of the passes there. If it has
    a smallest speed besides the one at the apex, that is the apex speed.
    """
    metres = STEP_M * np.arange(len(target.approach_times_s))
    seconds = np.array(target.approach_times_s)
    if not len(seconds):
        own = min((passage.t_entry - passage.t_start for passage in passes), default=0.0)
        metres, seconds = np.array([0.0, approach_m]), np.array([0.0, own])
    own_way, its_way = np.interp([approach_m, target.approach_m or 0.0], metres, seconds).tolist()
    slowest = target.apex_speed_kmh if target.min_speed_kmh is None else target.min_speed_kmh
    return replace(
        target,
        corner_time_s=target.corner_time_s + own_way - its_way,
        approach_m=approach_m,
        apex_speed_kmh=slowest,
    )


def find_basis(drive: Drive, references: References = NONE) -> Basis:
    """Return ``reference_file`` if a file names any corner of the circuit. Raises `NoCorners`."""
    lap = references.of(drive.track)
    named = lap is not None and any(corner.name in lap.corners for corner in drive.corners)
    return "reference_file" if named else "session_best"


def make_reference(drive: Drive, number: int | None = None, source: str = "") -> ReferenceLap:
    """Make a reference lap of the drive's complete lap of this number, else of its best one.

    Raises `NoSuchLap`, and `NoCorners` if the lap passed no corner whole.
    """
    lap, lengths = drive.lap(number), measure_approaches(drive)
    corners: dict[str, Target] = {}
    for corner in drive.corners:
        for passage in list_passes(drive)[corner.name]:
            if passage.lap == lap.number:
                corners[corner.name] = Target(
                    approach_m=lengths[corner.name] if drive.series.braking else None,
                    approach_times_s=measure_approach(drive, passage),
                    **{name: getattr(passage, name) for name in METRICS},
                    entry_distance_m=corner.entry.distance_m,
                    apex_distance_m=corner.apex.distance_m,
                    exit_distance_m=corner.exit.distance_m,
                )
    return ReferenceLap(
        track=drive.track.id if drive.track is not None else "",
        lap_time_s=lap.duration_s,
        corners=corners,
        source_file=f"{source}, lap {lap.number}" if source else "",
        total_distance_m=lap.distance_m,
        n_frames=lap.last - lap.first,
        max_combo_g=highest(drive.series.combo_g[lap.frames]),
    )


def measure_approach(drive: Drive, passage: Pass) -> tuple[float, ...]:
    """Return seconds from every 10 m before the entry to the entry, over up to 200 m."""
    frames = slice(max(passage.approach - 1, 0), passage.first + 1)
    t = drive.series.t[frames]
    way = np.maximum.accumulate(unwrap(drive.progress.p, drive.length_m)[frames])
    entry = float(np.interp(passage.t_entry, t, way))
    places = entry - np.arange(0.0, entry - way[0] + STEP_M / 1000, STEP_M)
    return tuple((passage.t_entry - np.interp(places, way, t)).tolist())


def dump_reference(lap: ReferenceLap) -> dict[str, object]:
    """Return the lap as JSON for its file, with numbers to four decimals."""
    made: dict[str, object] = FILE.dump_python(lap)
    return made


def format_reference(lap: ReferenceLap) -> str:
    """Return the text of a reference lap's file, which `parse_reference` reads."""
    return json.dumps(dump_reference(lap), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def parse_reference(text: str) -> ReferenceLap:
    """Parse a reference file. Raises `TrackError`, which says what is wrong and where.

    Lap and corner times must be above 0; all other numbers may be missing.
    """
    try:
        lap = FILE.validate_python(load_json(text))
    except ValidationError as error:
        raise TrackError(describe_fault(error)) from None
    if not lap.corners:
        raise TrackError("corners: must have at least one corner")
    return lap


class ReferenceBook:
    """The reference laps of a folder, one file a circuit, named by the circuit's id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._current = NONE

    def current(self) -> References:
        """Return the laps of the current files; the same object until a file changes.

        A file that is not a reference lap is left out with a warning. A missing folder has none.
        """
        seen = self._list_files()
        if seen != self._seen:
            self._seen, self._current = seen, read_references(self.folder)
            for track, why in self._current.unreadable.items():
                log.warning("reference of %s is left out: %s", track, why)
        return self._current

    def _list_files(self) -> tuple[tuple[str, int, int], ...]:
        try:
            with os.scandir(self.folder) as entries:
                facts = [(e.name, e.stat()) for e in entries if e.name.endswith(".json")]
        except OSError:
            return ()
        return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in facts))


def read_references(folder: Path) -> References:
    """Read the reference laps of a folder."""
    return References(*read_folder(folder, read_reference))


def read_reference(path: Path) -> ReferenceLap:
    """Read the lap of one file. Raises `TrackError`, which names the file."""
    return read_file(path, parse_reference)


def write_reference(path: Path, lap: ReferenceLap, *, force: bool = False) -> None:
    """Write the file, and its folder. Raises `TrackError` and `OSError`.

    An existing file is overwritten only with *force*.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_file(path, format_reference(lap), force=force)
    except TrackError as error:
        raise TrackError(f"{path} {error}") from None
