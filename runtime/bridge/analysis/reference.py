"""Reference laps: what corners are compared with, and the files that hold them."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive, UnknownLap
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.names import slug
from runtime.bridge.track.fields import LARGEST_TEXT, FieldError, Fields, json_object
from runtime.bridge.track.model import Track, TrackError

Basis: TypeAlias = Literal["reference_file", "session_best"]
_SIGNED: Final = ("brake_point_m", "brake_release_m")
LARGEST: Final = 1e5
DIGITS: Final = 4
log = logging.getLogger(__name__)
_NOTHING: Final[tuple[tuple[str, int, int], ...]] = ()


class Target(NamedTuple):
    """A corner as the reference took it; each number is that of `Pass`, None where unknown."""

    corner_time_s: float
    entry_speed_kmh: float | None = None
    apex_speed_kmh: float | None = None
    exit_speed_kmh: float | None = None
    min_speed_kmh: float | None = None
    peak_brake_bar: float | None = None
    brake_point_m: float | None = None
    brake_release_m: float | None = None
    trail_brake_bar_at_apex: float | None = None
    throttle_at_exit_pct: float | None = None
    max_g_lat: float | None = None
    max_combo_g: float | None = None
    coast_seconds: float | None = None
    steering_corrections: float | None = None
    nothing_time_s: float | None = None
    entry_distance_m: float | None = None
    """Metres of the lap, as are apex and exit."""
    apex_distance_m: float | None = None
    exit_distance_m: float | None = None


METRICS: Final = tuple(name for name in Target._fields if name in Pass._fields)
"""What a reference lap takes over from a pass."""
Taken: TypeAlias = Pass | Target
"""How a corner was taken: in a session, or by a reference."""


@dataclass(frozen=True, eq=False)
class ReferenceLap:
    """A lap worth comparing with."""

    track: str
    """Id or name of its circuit."""
    lap_time_s: float
    corners: Mapping[str, Target]
    """By name; one at least."""
    source_file: str = ""
    """Where it comes from."""
    total_distance_m: float | None = None
    n_frames: int | None = None
    max_combo_g: float | None = None
    """The largest combined acceleration of the lap."""


@dataclass(frozen=True, eq=False)
class References:
    """The reference laps there are, by id of their circuit."""

    laps: Mapping[str, ReferenceLap] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why a file is no reference lap, by the id of the circuit."""

    def of(self, track: Track | None) -> ReferenceLap | None:
        """The lap of a circuit; None without one, and for a lap of another circuit."""
        lap = self.laps.get(track.id) if track is not None else None
        if lap is None or track is None:
            return None
        return lap if slug(lap.track) in (slug(track.id), slug(track.name)) else None


NONE: Final = References()


class Aim(NamedTuple):
    """What one corner is compared with."""

    target: Taken
    basis: Basis
    own: Pass | None = None
    """The session's pass that it is, where it is one."""


def aims(drive: Drive, references: References = NONE) -> dict[str, Aim]:
    """What each corner is compared with, where there is anything.

    The reference file where it names the corner, else the session's own quickest pass, the
    earliest of equals. Raises `NoGeometry`.
    """
    lap = references.of(drive.track)
    found: dict[str, Aim] = {}
    for name, passes in passes_of(drive).items():
        if lap is not None and name in lap.corners:
            found[name] = Aim(lap.corners[name], "reference_file")
        elif passes:
            best = min(passes, key=lambda one: (one.corner_time_s, one.t_entry))
            found[name] = Aim(best, "session_best", best)
    return found


def basis_of(drive: Drive, references: References = NONE) -> Basis:
    """Whether a reference file counts for any corner of the circuit. Raises `NoGeometry`."""
    lap = references.of(drive.track)
    named = lap is not None and any(corner.name in lap.corners for corner in drive.corners)
    return "reference_file" if named else "session_best"


def reference_lap(drive: Drive, number: int | None = None, source: str = "") -> ReferenceLap:
    """The drive's complete lap of that number, else its best one, as a reference for others.

    Raises `UnknownLap`, and `NoGeometry` where the lap passed no corner whole.
    """
    lap = drive.best if number is None else _lap(drive, number)
    found: dict[str, Target] = {}
    for corner in drive.corners:
        for one in passes_of(drive)[corner.name]:
            if one.lap == lap.number:
                found[corner.name] = Target(
                    one.corner_time_s,
                    **{name: getattr(one, name) for name in METRICS},
                    entry_distance_m=corner.entry.distance_m,
                    apex_distance_m=corner.apex.distance_m,
                    exit_distance_m=corner.exit.distance_m,
                )
    combo = drive.series.combo_g[lap.frames]
    most = float(np.fmax.reduce(combo, initial=np.nan))
    return ReferenceLap(
        track=drive.track.id if drive.track is not None else "",
        lap_time_s=lap.duration_s,
        corners=found,
        source_file=f"{source}, lap {lap.number}" if source else "",
        total_distance_m=lap.distance_m,
        n_frames=lap.last - lap.first,
        max_combo_g=None if np.isnan(most) else most,
    )


def _lap(drive: Drive, number: int) -> Segment:
    for lap in drive.counted:
        if lap.number == number:
            return lap
    raise UnknownLap


def reference_json(lap: ReferenceLap) -> dict[str, object]:
    """The lap as its file holds it, numbers to four places."""
    return {
        "track": lap.track,
        "source_file": lap.source_file,
        "lap_time_s": round(lap.lap_time_s, DIGITS),
        "total_distance_m": _short(lap.total_distance_m),
        "n_frames": lap.n_frames,
        "max_combo_g": _short(lap.max_combo_g),
        "corners": {
            name: {key: _short(value) for key, value in target._asdict().items()}
            for name, target in lap.corners.items()
        },
    }


def reference_text(lap: ReferenceLap) -> str:
    """The file of a reference lap, which `parse_reference` reads."""
    return json.dumps(reference_json(lap), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def parse_reference(text: str) -> ReferenceLap:
    """The lap of a reference file. Raises `TrackError`, which says what is wrong and where.

    Lap and corner times must be above 0; of the other numbers any may be missing.
    """
    file = json_object(text)
    try:
        corners = file.fields("corners")
        found = {
            name: _target(Fields(value, f"corners.{name}"))
            for name, value in corners.values.items()
        }
        if not found:
            raise FieldError("corners: one corner at least is needed")
        return ReferenceLap(
            track=file.text("track"),
            lap_time_s=_above_zero(file, "lap_time_s"),
            corners=found,
            source_file=file.text("source_file", ""),
            total_distance_m=file.optional_number("total_distance_m", 0, LARGEST),
            n_frames=file.integer("n_frames", 0, 10**9) if "n_frames" in file else None,
            max_combo_g=file.optional_number("max_combo_g", 0, LARGEST),
        )
    except FieldError as error:
        raise TrackError(str(error)) from None


def _target(item: Fields) -> Target:
    known = {
        name: item.optional_number(name, -LARGEST if name in _SIGNED else 0.0, LARGEST)
        for name in Target._fields[1:]
    }
    return Target(_above_zero(item, "corner_time_s"), **known)


def _above_zero(item: Fields, name: str) -> float:
    seconds = item.number(name, 0.0, LARGEST)
    if seconds <= 0:
        raise item.wrong(name, "must be above 0")
    return seconds


class ReferenceBook:
    """The reference laps of a folder, one file a circuit, named by the circuit's id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: tuple[tuple[str, int, int], ...] = _NOTHING
        self._current = NONE

    def current(self) -> References:
        """The laps as the files are now; the same object as long as no file changes.

        A file that is no reference lap is left out, with a warning. An absent folder has none.
        """
        seen = self._listed()
        if seen != self._seen:
            self._seen, self._current = seen, read_references(self.folder)
            for track, why in self._current.unreadable.items():
                log.warning("reference of %s is left out: %s", track, why)
        return self._current

    def _listed(self) -> tuple[tuple[str, int, int], ...]:
        try:
            with os.scandir(self.folder) as entries:
                facts = [(e.name, e.stat()) for e in entries if e.name.endswith(".json")]
        except OSError:
            return _NOTHING
        return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in facts))


def read_references(folder: Path) -> References:
    """Every reference lap of a folder."""
    laps: dict[str, ReferenceLap] = {}
    unreadable: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            laps[path.stem] = read_reference(path)
        except TrackError as error:
            unreadable[path.stem] = str(error)
    return References(laps, unreadable)


def read_reference(path: Path) -> ReferenceLap:
    """The lap of one file. Raises `TrackError`, which names the file."""
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise TrackError("the file is larger than 16 MiB")
        return parse_reference(path.read_text(encoding="utf-8-sig"))
    except (TrackError, UnicodeDecodeError) as error:
        raise TrackError(f"{path.name}: {error}") from None
    except OSError as error:
        raise TrackError(f"{path.name}: {error.strerror}") from None


def write_reference(path: Path, lap: ReferenceLap, *, force: bool = False) -> None:
    """Write the file, its folder too. Raises `TrackError` and `OSError`.

    A file that is there already is written over only with *force*.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = reference_text(lap)
    if not force:
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise TrackError(f"{path} is there already; --force writes over it") from None
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.next")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
