"""A session's laps for lists, tables and the leaderboard; small, and stored as JSON."""

from dataclasses import dataclass

from runtime.bridge.analysis.drive import Drive, choose_sectors, keep_aligned_track, place_laps
from runtime.bridge.analysis.reference import find_aims
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.definitions import has_coasting_readings, is_coasting, measure_share
from runtime.bridge.session.laps import Laps, Segment
from runtime.bridge.session.progress import Progress, time_sectors
from runtime.bridge.session.series import Series
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Track


@dataclass(frozen=True, slots=True)
class LapSummary:
    """A complete lap in numbers."""

    number: int
    time_s: float
    t_start: float
    t_end: float
    sectors: tuple[float | None, ...]
    """Seconds; None if recording paused in one."""
    best_sector: float | None
    """Seconds of the shortest sector."""
    avg_speed_kmh: float
    max_combo_g: float | None
    coast_pct: float | None
    """% of the lap's time; None if a pedal, or the speed, was not recorded."""
    best: bool
    outlier: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The laps of one session."""

    full: Segment
    segments: tuple[Segment, ...]
    laps: tuple[LapSummary, ...]
    """Complete ones, in time order."""
    length_m: float | None
    """Of a lap."""
    derived: tuple[str, ...]
    """Signals that no sensor measured (`Series.derived`)."""
    apexes: tuple[tuple[str, float], ...] = ()
    """Apex speed of the quickest pass of each corner, km/h; by corner name."""

    @property
    def best_s(self) -> float | None:
        """The fastest complete lap, seconds."""
        return min((lap.time_s for lap in self.laps), default=None)


def summarise(laps: Laps, track: Track | None = None) -> Summary:
    """Summarise detected laps, on *track* if given."""
    track = keep_aligned_track(laps, track)
    progress, _ = place_laps(laps, track)
    spans = choose_sectors(laps, progress, track) if progress is not None else ()
    coasts, has_readings = is_coasting(laps.series), has_coasting_readings(laps.series)
    counted = []
    for lap in laps.complete:
        times = time_sectors(laps, progress, lap, spans) if progress is not None else []
        inside = lap.frames
        coasting = measure_share(laps.series.weight[inside], coasts[inside], has_readings[inside])
        counted.append(_lap(laps.series, lap, tuple(times), coasting))
    return Summary(
        full=laps.full,
        segments=tuple(laps.segments),
        laps=tuple(counted),
        length_m=progress.length_m if progress is not None else laps.length_m,
        derived=tuple(sorted(laps.series.derived)),
        apexes=_apexes(laps, progress, track) if progress and track and track.corners else (),
    )


def _apexes(laps: Laps, progress: Progress, track: Track) -> tuple[tuple[str, float], ...]:
    """Return apex speeds of the quickest passes; corners that no lap passed whole are left out."""
    if not laps.complete:
        return ()
    quickest = find_aims(Drive(laps, laps.complete, progress, track))
    speeds = ((name, aim.target.apex_speed_kmh) for name, aim in quickest.items())
    return tuple(sorted((name, speed) for name, speed in speeds if speed is not None))


def _lap(
    series: Series, lap: Segment, sectors: tuple[float | None, ...], coasting: float | None
) -> LapSummary:
    return LapSummary(
        number=lap.number or 0,
        time_s=lap.duration_s,
        t_start=lap.t_start,
        t_end=lap.t_end,
        sectors=sectors,
        best_sector=min((time for time in sectors if time is not None), default=None),
        avg_speed_kmh=lap.distance_m / lap.duration_s * KMH,
        max_combo_g=highest(series.combo_g[lap.frames]),
        coast_pct=None if coasting is None else 100.0 * coasting,
        best=lap.best,
        outlier=lap.outlier,
    )
