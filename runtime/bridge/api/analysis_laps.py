"""Analytics of lap times: statistics, the table of laps, their spread, sectors, the ideal lap."""

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.laps import (
    ComposedLap,
    LapSplits,
    OutlierLap,
    PartTime,
    SectorDefinition,
    SectorSplit,
    all_sector_times,
    ideal_lap,
    lap_time_distribution,
    lap_time_table,
)
from runtime.bridge.analysis.stats import stats
from runtime.bridge.api.analysis import (
    GUARD,
    ONE_LAP,
    Analytic,
    LapQuery,
    WholeQuery,
    subject_of,
)
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import Values
from runtime.bridge.session.laps import Method
from runtime.bridge.session.units import Bar, Gravity, Hertz, Kmh, Metres, Seconds
from runtime.web.routes import Routes

routes = Routes("analysis")


class SessionNumbers(Values):
    """The session in numbers; null where the channel was not recorded."""

    top_speed_kmh: Kmh | None = Field(description="km/h: largest speed")
    average_speed_kmh: Kmh | None = Field(
        description="km/h: mean over time, each frame weighing as long as it lasted"
    )
    max_combo_g: Gravity | None = Field(description="g: largest combined acceleration")
    max_g_lat: Gravity | None = Field(description="g: largest lateral acceleration, without sign")
    max_decel_g: Gravity | None = Field(
        description="g: lowest longitudinal one, negative in braking"
    )
    max_accel_g: Gravity | None = Field(description="g: largest longitudinal one")
    max_brake_bar: Bar | None = Field(description="bar: largest brake pressure")
    longest_full_throttle_s: Seconds | None = Field(
        description="s: longest run of frames with the throttle at 95 % or more; a pause ends it"
    )
    time_on_track_s: Seconds | None = Field(
        description="s: faster than 5 m/s, within session_duration_s"
    )
    n_frames: int = Field(description="frames whose time goes forward")
    session_duration_s: Seconds = Field(
        description="s: from the first frame to the last, or of the chosen lap; samples of signals "
        "before and after are not counted"
    )
    distance_m: Metres = Field(description="m: driven in that time")
    n_laps: int = Field(description="complete laps")
    best_lap_s: Seconds = Field(description="s: the fastest of them")
    sample_rate_hz: Hertz | None = Field(description="Hz: from the median period")
    n_gaps: int = Field(
        description="pauses of the recording (longer than 0.5 s and than 5 median periods), and "
        "moments at which its clock was put back"
    )


class StatsAnswer(SessionNumbers, Analytic):
    """The numbers, at the top and once more as one object."""

    stats: SessionNumbers


class LapRecord(Values):
    """A complete lap."""

    lap_number: int = Field(description="from 1, in time order")
    lap_time_s: Seconds = Field(description="s")
    time: str = Field(description="the same as m:ss.mmm")
    delta_to_best_s: Seconds = Field(description="s behind the best lap; 0 of the best itself")
    is_best: bool = Field(description="of one lap only: the fastest, the earliest of equals")
    sectors: tuple[SectorSplit, ...]
    valid: bool = Field(description="whether the lap counts; all laps of this table do")
    outlier: bool = Field(
        description="more than 1.5 interquartile ranges from the quartiles, of five laps or more"
    )
    t_start: Seconds = Field(description="s of the session's clock")
    t_end: Seconds = Field(description="s of the session's clock")
    max_speed_kmh: Kmh | None = Field(description="km/h: largest speed of the lap")
    method: Method = Field(description="how it was found")


class LapTimeTable(Analytic):
    """The complete laps in time order."""

    lap_count: int
    best_lap_s: Seconds = Field(description="s")
    best_lap_number: int
    laps: tuple[LapRecord, ...]


class LapTimeDistribution(Analytic):
    """How the lap times are spread."""

    lap_count: int
    min_s: Seconds = Field(description="s: fastest")
    max_s: Seconds = Field(description="s: slowest")
    q1_s: Seconds = Field(description="s: lower quartile, between neighbours in proportion")
    median_s: Seconds = Field(description="s")
    q3_s: Seconds = Field(description="s: upper quartile")
    iqr_s: Seconds = Field(description="s: upper less lower quartile")
    whisker_low_s: Seconds = Field(
        description="s: fastest lap within 1.5 interquartile ranges of the lower quartile"
    )
    whisker_high_s: Seconds = Field(
        description="s: slowest lap within 1.5 interquartile ranges of the upper quartile"
    )
    outliers: tuple[OutlierLap, ...] = Field(description="laps beyond the whiskers, in time order")
    mean_s: Seconds = Field(description="s")
    stddev_s: Seconds = Field(description="s: standard deviation of the laps as a population")


class IdealLapAnswer(Analytic):
    """The lap in which every sector went as well as it ever did."""

    ideal_lap_s: Seconds | None = Field(
        description="s: sum of the best sectors; null: recording paused in a sector of every lap"
    )
    best_actual_lap_s: Seconds = Field(description="s: fastest complete lap")
    gain_potential_s: Seconds | None = Field(description="s: best lap less ideal lap, 0 or more")
    best_sectors: tuple[PartTime, ...]
    mini_sectors: ComposedLap = Field(
        description="the same of 25 parts of one length; finer than anybody can join: a bound"
    )
    corners_and_straights: ComposedLap = Field(
        description="the same of every corner and every straight; no parts without known corners"
    )


class SectorTimesAnswer(Analytic):
    """Every lap's three sectors."""

    sector_definitions: tuple[SectorDefinition, ...]
    laps: tuple[LapSplits, ...] = Field(description="complete laps in time order")


@routes.get("/session/{sid}/stats", errors=ONE_LAP)
async def session_stats(request: web.Request, *, path: SessionPath, query: LapQuery) -> StatsAnswer:
    """Sum a session up: speeds, accelerations, pedals, duration."""
    subject = subject_of(request, path, query)
    found = await subject.compute(stats)
    return await subject.answer(StatsAnswer, found, stats=found)


@routes.get("/session/{sid}/lap_time_table", errors=GUARD)
async def table(request: web.Request, *, path: SessionPath, query: WholeQuery) -> LapTimeTable:
    """List the complete laps with their sectors, gaps to the best and flags of the bests."""
    subject = subject_of(request, path, query)
    return await subject.answer(LapTimeTable, await subject.compute(lap_time_table))


@routes.get("/session/{sid}/lap_time_distribution", errors=GUARD)
async def distribution(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> LapTimeDistribution:
    """Show how the lap times are spread, as a box plot does."""
    subject = subject_of(request, path, query)
    return await subject.answer(LapTimeDistribution, await subject.compute(lap_time_distribution))


@routes.get("/session/{sid}/ideal_lap", errors=GUARD)
async def ideal(request: web.Request, *, path: SessionPath, query: WholeQuery) -> IdealLapAnswer:
    """Add up the best sectors, and beside them the best of finer parts of the lap."""
    subject = subject_of(request, path, query)
    found = await subject.compute(ideal_lap)
    sectors = found.sectors
    return await subject.answer(
        IdealLapAnswer,
        found,
        ideal_lap_s=sectors.lap_s,
        gain_potential_s=sectors.gain_s,
        best_sectors=sectors.parts,
    )


@routes.get("/session/{sid}/sector_times", errors=GUARD)
async def sector_times(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> SectorTimesAnswer:
    """List each lap's time in the three sectors."""
    subject = subject_of(request, path, query)
    return await subject.answer(SectorTimesAnswer, await subject.compute(all_sector_times))
