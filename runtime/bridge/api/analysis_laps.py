"""Analytics of lap times: statistics, the table of laps, their spread, sectors, the ideal lap."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.laps import (
    Composed,
    LapTime,
    all_sector_times,
    ideal_lap,
    lap_time_distribution,
    lap_time_table,
)
from runtime.bridge.analysis.stats import Stats, stats
from runtime.bridge.api.analysis_shapes import (
    GUARD,
    ONE_LAP,
    Analytic,
    LapQuery,
    PartTime,
    WholeQuery,
    analysed,
    kmh,
    part_time,
    splits,
)
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import rounded
from runtime.bridge.session.ranking import time_text
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("analysis")


class SessionNumbers(Wire):
    """The session in numbers; null where the channel was not recorded."""

    top_speed_kmh: float | None = Field(description="km/h: largest speed")
    average_speed_kmh: float | None = Field(
        description="km/h: mean over time, each frame weighing as long as it lasted"
    )
    max_combo_g: float | None = Field(description="g: largest combined acceleration")
    max_g_lat: float | None = Field(description="g: largest lateral acceleration, without sign")
    max_decel_g: float | None = Field(description="g: lowest longitudinal one, negative in braking")
    max_accel_g: float | None = Field(description="g: largest longitudinal one")
    max_brake_bar: float | None = Field(description="bar: largest brake pressure")
    longest_full_throttle_s: float | None = Field(
        description="s: longest run of frames with the throttle at 95 % or more; a pause ends it"
    )
    time_on_track_s: float | None = Field(
        description="s: faster than 5 m/s, within session_duration_s"
    )
    n_frames: int = Field(description="frames whose time goes forward")
    session_duration_s: float = Field(
        description="s: from the first frame to the last, or of the chosen lap; samples of signals "
        "before and after are not counted"
    )
    distance_m: float = Field(description="m: driven in that time")
    n_laps: int = Field(description="complete laps")
    best_lap_s: float = Field(description="s: the fastest of them")
    sample_rate_hz: float | None = Field(description="Hz: from the median period")
    n_gaps: int = Field(
        description="pauses of the recording (longer than 0.5 s and than 5 median periods), and "
        "moments at which its clock was put back"
    )


class StatsAnswer(SessionNumbers, Analytic):
    """The numbers, at the top and once more as one object."""

    stats: SessionNumbers


class SectorSplit(Wire):
    """One sector of one lap."""

    id: str = Field(description="S1, S2, S3")
    name: str = Field(description="as in the track file, else Sector 1 to 3")
    time_s: float | None = Field(
        description="s: between the crossings of its ends, interpolated; the sectors of a lap add "
        "up to its time; null: recording paused in it"
    )
    is_best: bool = Field(description="nobody was faster in it; ties are all flagged")


class LapRecord(Wire):
    """A complete lap."""

    lap_number: int = Field(description="from 1, in time order")
    lap_time_s: float = Field(description="s")
    time: str = Field(description="the same as m:ss.mmm")
    delta_to_best_s: float = Field(description="s behind the best lap; 0 of the best itself")
    is_best: bool = Field(description="of one lap only: the fastest, the earliest of equals")
    sectors: list[SectorSplit]
    valid: bool = Field(description="whether the lap counts; all laps of this table do")
    outlier: bool = Field(
        description="more than 1.5 interquartile ranges from the quartiles, of five laps or more"
    )
    t_start: float = Field(description="s of the session's clock")
    t_end: float = Field(description="s of the session's clock")
    max_speed_kmh: float | None = Field(description="km/h: largest speed of the lap")
    method: Literal["all", "gps", "distance", "stint"] = Field(description="how it was found")


class LapTimeTable(Analytic):
    """The complete laps in time order."""

    lap_count: int
    best_lap_s: float = Field(description="s")
    best_lap_number: int
    laps: list[LapRecord]


class OutlierLap(Wire):
    """A lap strictly outside the fences."""

    lap_number: int
    lap_time_s: float = Field(description="s")


class LapTimeDistribution(Analytic):
    """How the lap times are spread."""

    lap_count: int
    min_s: float = Field(description="s: fastest")
    max_s: float = Field(description="s: slowest")
    q1_s: float = Field(description="s: lower quartile, between neighbours in proportion")
    median_s: float = Field(description="s")
    q3_s: float = Field(description="s: upper quartile")
    iqr_s: float = Field(description="s: upper less lower quartile")
    whisker_low_s: float = Field(
        description="s: fastest lap within 1.5 interquartile ranges of the lower quartile"
    )
    whisker_high_s: float = Field(
        description="s: slowest lap within 1.5 interquartile ranges of the upper quartile"
    )
    outliers: list[OutlierLap] = Field(description="laps beyond the whiskers, in time order")
    mean_s: float = Field(description="s")
    stddev_s: float = Field(description="s: standard deviation of the laps as a population")


class ComposedLap(Wire):
    """A lap put together from the best of its parts, as each was really driven."""

    lap_s: float | None = Field(
        description="s: sum of the parts, never above the best lap; null: a part has no time"
    )
    gain_s: float | None = Field(description="s: best lap less that")
    parts: list[PartTime] = Field(description="from start/finish around the lap")


class IdealLapAnswer(Analytic):
    """The lap in which every sector went as well as it ever did."""

    ideal_lap_s: float | None = Field(
        description="s: sum of the best sectors; null: recording paused in a sector of every lap"
    )
    best_actual_lap_s: float = Field(description="s: fastest complete lap")
    gain_potential_s: float | None = Field(description="s: best lap less ideal lap, 0 or more")
    best_sectors: list[PartTime]
    mini_sectors: ComposedLap = Field(
        description="the same of 25 parts of one length; finer than anybody can join: a bound"
    )
    corners_and_straights: ComposedLap = Field(
        description="the same of every corner and every straight; no parts without known corners"
    )


class SectorDefinition(Wire):
    """Where a sector lies."""

    name: str
    start_m: float = Field(description="m of lap progress from start/finish")
    end_m: float = Field(description="m of lap progress")


class LapSplits(Wire):
    """Seconds of a lap in each sector; null where recording paused in it."""

    lap_number: int
    s1: float | None = Field(description="s")
    s2: float | None = Field(description="s")
    s3: float | None = Field(description="s")


class SectorTimesAnswer(Analytic):
    """Every lap's three sectors."""

    sector_definitions: list[SectorDefinition]
    laps: list[LapSplits] = Field(description="complete laps in time order")


@routes.get("/session/{sid}/stats", errors=ONE_LAP)
async def session_stats(request: web.Request, *, path: SessionPath, query: LapQuery) -> StatsAnswer:
    """Sum a session up: speeds, accelerations, pedals, duration."""
    partial, found = await analysed(request, path.sid, query, stats)
    numbers = _numbers(found)
    return StatsAnswer(session_id=path.sid, partial=partial, stats=numbers, **numbers.model_dump())


@routes.get("/session/{sid}/lap_time_table", errors=GUARD)
async def table(request: web.Request, *, path: SessionPath, query: WholeQuery) -> LapTimeTable:
    """List the complete laps with their sectors, gaps to the best and flags of the bests."""
    partial, found = await analysed(request, path.sid, query, lap_time_table)
    return LapTimeTable(
        session_id=path.sid,
        partial=partial,
        lap_count=len(found.laps),
        best_lap_s=round(found.best.duration_s, 3),
        best_lap_number=found.best.number or 0,
        laps=[_record(one) for one in found.laps],
    )


@routes.get("/session/{sid}/lap_time_distribution", errors=GUARD)
async def distribution(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> LapTimeDistribution:
    """Show how the lap times are spread, as a box plot does."""
    partial, found = await analysed(request, path.sid, query, lap_time_distribution)
    box = found.box
    return LapTimeDistribution(
        session_id=path.sid,
        partial=partial,
        lap_count=found.n,
        min_s=round(found.lowest, 3),
        max_s=round(found.highest, 3),
        q1_s=round(box.q1, 3),
        median_s=round(box.median, 3),
        q3_s=round(box.q3, 3),
        iqr_s=round(box.iqr, 3),
        whisker_low_s=round(box.low, 3),
        whisker_high_s=round(box.high, 3),
        outliers=[
            OutlierLap(lap_number=lap.number or 0, lap_time_s=round(lap.duration_s, 3))
            for lap in found.outliers
        ],
        mean_s=round(found.mean, 3),
        stddev_s=round(found.deviation, 3),
    )


@routes.get("/session/{sid}/ideal_lap", errors=GUARD)
async def ideal(request: web.Request, *, path: SessionPath, query: WholeQuery) -> IdealLapAnswer:
    """Add up the best sectors, and beside them the best of finer parts of the lap."""
    partial, found = await analysed(request, path.sid, query, ideal_lap)
    return IdealLapAnswer(
        session_id=path.sid,
        partial=partial,
        ideal_lap_s=rounded(found.sectors.time_s, 3),
        best_actual_lap_s=round(found.best_s, 3),
        gain_potential_s=rounded(found.sectors.gain_s, 3),
        best_sectors=[part_time(one) for one in found.sectors.parts],
        mini_sectors=_composed(found.mini),
        corners_and_straights=_composed(found.bends),
    )


@routes.get("/session/{sid}/sector_times", errors=GUARD)
async def sector_times(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> SectorTimesAnswer:
    """List each lap's time in the three sectors."""
    partial, found = await analysed(request, path.sid, query, all_sector_times)
    laps = []
    for lap, times in found.laps:
        s1, s2, s3 = splits(times, lap.duration_s)
        laps.append(LapSplits(lap_number=lap.number or 0, s1=s1, s2=s2, s3=s3))
    return SectorTimesAnswer(
        session_id=path.sid,
        partial=partial,
        sector_definitions=[
            SectorDefinition(
                name=one.name, start_m=round(one.start_m, 1), end_m=round(one.end_m, 1)
            )
            for one in found.sectors
        ],
        laps=laps,
    )


def _numbers(found: Stats) -> SessionNumbers:
    return SessionNumbers(
        top_speed_kmh=kmh(found.top_speed_ms),
        average_speed_kmh=kmh(found.average_speed_ms),
        max_combo_g=rounded(found.max_combo_g, 3),
        max_g_lat=rounded(found.max_g_lat, 3),
        max_decel_g=rounded(found.max_decel_g, 3),
        max_accel_g=rounded(found.max_accel_g, 3),
        max_brake_bar=rounded(found.max_brake_bar, 1),
        longest_full_throttle_s=rounded(found.longest_full_throttle_s, 3),
        time_on_track_s=rounded(found.time_on_track_s, 3),
        n_frames=found.n_frames,
        session_duration_s=round(found.duration_s, 3),
        distance_m=round(found.distance_m, 1),
        n_laps=found.n_laps,
        best_lap_s=round(found.best_lap_s, 3),
        sample_rate_hz=rounded(found.sample_rate_hz, 3),
        n_gaps=found.n_gaps,
    )


def _record(one: LapTime) -> LapRecord:
    lap = one.lap
    times = splits([split.time_s for split in one.splits], lap.duration_s)
    return LapRecord(
        lap_number=lap.number or 0,
        lap_time_s=round(lap.duration_s, 3),
        time=time_text(lap.duration_s),
        delta_to_best_s=round(one.delta_s, 3),
        is_best=one.is_best,
        sectors=[
            SectorSplit(id=f"S{i}", name=split.name, time_s=time, is_best=split.is_best)
            for i, (split, time) in enumerate(zip(one.splits, times, strict=True), 1)
        ],
        valid=lap.valid,
        outlier=lap.outlier,
        t_start=round(lap.t_start, 3),
        t_end=round(lap.t_end, 3),
        max_speed_kmh=kmh(one.max_speed_ms),
        method=lap.method,
    )


def _composed(found: Composed) -> ComposedLap:
    return ComposedLap(
        lap_s=rounded(found.time_s, 3),
        gain_s=rounded(found.gain_s, 3),
        parts=[part_time(one) for one in found.parts],
    )
