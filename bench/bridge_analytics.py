"""Session analytics, cold and warm, beside the same numbers in pandas.

python -m bench.bridge_analytics --quick

Cold is the computation on arrays that are in memory, on a drive that has computed nothing yet; a
first line says what it takes to find the laps and the drive. pandas computes each thing once from
its own data frame with the lap of each row known. Over HTTP, cold includes reading the session from
its database, and warm answers from what was computed before. The best of the rounds counts.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from bench import bridge_analytics_pandas as theirs
from runtime.bridge.analysis.compare import circuit, compared, driven_side
from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.analysis.friction import friction_circle
from runtime.bridge.analysis.hustle import hustle_map
from runtime.bridge.analysis.ideal import ideal_lap
from runtime.bridge.analysis.lap_times import lap_time_distribution, lap_time_table
from runtime.bridge.analysis.mapping import track_map
from runtime.bridge.analysis.pedals import pedal_behavior
from runtime.bridge.analysis.sectors import all_sector_times
from runtime.bridge.analysis.stats import stats
from runtime.bridge.analysis.straights import straight_line_speed
from runtime.bridge.analysis.video import Ask, footage, matched
from runtime.bridge.app import assemble, make_app
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, VideoFrame
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.values import Backend
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from runtime.web.serve import started
from tools.drive import USUAL, drive

HZ: Final = 100.0
DATA: Final = Path(__file__).parents[1] / "data"
ROUTES: Final = (
    "stats",
    "friction_circle",
    "hustle_map",
    "map",
    "sync",
    "clips",
    "lap_time_table",
    "lap_time_distribution",
    "ideal_lap",
    "sector_times",
    "pedal_behavior",
    "straight_line_speed",
    "compare?a=2",
    "scorecard",
    "highlights",
    "eob",
    "incidents",
    "throttle_corner_box",
    "corner_classification",
    "brake_acceleration",
    "corners",
)
VIDEO: Final = tuple(VideoFrame(i / 2, None, "a.mp4", i / 2) for i in range(200))


class Case(NamedTuple):
    """One analytic, ours and theirs."""

    name: str
    ours: Callable[[Drive], object]
    pandas: Callable[[pd.DataFrame, Track], object] | None


def comparison(found: Drive) -> object:
    """Lap 2 beside the best one."""
    where = circuit(found)
    return compared(driven_side(found, 2, where), driven_side(found, None, where), where)


CASES: Final = (
    Case("stats", stats, theirs.stats),
    Case("friction_circle", friction_circle, theirs.friction),
    Case("hustle_map", hustle_map, theirs.hustle),
    Case("map", track_map, theirs.polylines),
    Case("sync", lambda d: matched(d, footage(d, VIDEO), Ask(most=10**7)), theirs.sync(VIDEO)),
    Case("lap_time_table", lap_time_table, theirs.lap_times),
    Case("lap_time_distribution", lap_time_distribution, None),
    Case("sector_times", all_sector_times, theirs.sectors),
    Case("ideal_lap", ideal_lap, theirs.ideal),
    Case("pedal_behavior", pedal_behavior, theirs.pedals),
    Case("straight_line_speed", straight_line_speed, theirs.straights),
    Case("compare", comparison, theirs.compare),
)


def session(track: Track, count: int) -> Frames:
    """So many frames of laps at 100 Hz, with the errors of usual sensors."""
    laps = int(count / HZ / 100.0) + 2
    driven = drive(track, laps, hz=HZ, noise=USUAL, seed=1).frames
    return Frames({name: values[:count] for name, values in driven.columns.items()})


def data_frame(found: Drive) -> pd.DataFrame:
    """What pandas starts from: the frames, the lap of each (0: none), and its progress."""
    table = pd.DataFrame(dict(found.series.frames.columns))
    lap = np.zeros(len(table), dtype=np.int64)
    for one in found.counted:
        lap[one.frames] = one.number or 0
    return table.assign(lap=lap, p=found.progress.p)


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Processor time of the best round."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best * 1000.0


def functions(track: Track, count: int, rounds: int) -> Iterator[str]:
    """Each analytic through its function, and in pandas."""
    frames = session(track, count)

    def fresh() -> Drive:
        found = detect(frames, gate=track.start, track_length_m=track.length_m)
        return drive_of(found, track)

    yield f"{count:,} frames, functions, processor ms{'ours':>22}{'pandas':>10}{'times':>8}"
    yield f"  {'laps and drive':<40}{milliseconds(fresh, rounds):>14.1f}"
    table = data_frame(fresh())
    total = 0.0
    for case in CASES:
        best = float("inf")
        for _ in range(rounds):
            best = min(best, milliseconds(partial(case.ours, fresh()), 1))
        total += best
        line = f"  {case.name:<40}{best:>14.1f}"
        if case.pandas is not None:
            other = milliseconds(partial(case.pandas, table, track), rounds)
            line += f"{other:>10.1f}{other / max(best, 0.01):>8.1f}"
        yield line
    yield f"  {'together':<40}{total:>14.1f}"


async def over_http(track: Track, count: int, kind: Backend, rounds: int) -> list[str]:
    """Each route, first cold, then warm; wall time of the client."""
    with tempfile.TemporaryDirectory() as folder:
        values = {"port": 0, "db": Path(folder) / "db", "db_backend": kind, "data_dir": DATA}
        service = assemble(BridgeSettings.model_validate(values))
        async with (
            started(make_app(service)) as running,
            aiohttp.ClientSession(running.url) as http,
        ):
            frames = session(track, count)
            async with http.post("/session/start", json={"session_id": "s", "track": track.id}):
                pass
            await service.db.append_frames("s", frames)
            await service.db.append_video("s", VIDEO)

            async def asked(route: str) -> float:
                begun = time.perf_counter()
                async with http.get(f"/session/s/{route}") as answer:
                    body = await answer.read()
                    if answer.status != 200:
                        raise RuntimeError(f"{route}: {answer.status} {body[:200]!r}")
                return (time.perf_counter() - begun) * 1000.0

            lines = [f"{count:,} frames, HTTP, {kind}, wall ms{'cold':>24}{'warm':>10}"]
            await asked("laps")
            first, total = await asked("pedal_behavior?brake_th=2"), 0.0
            lines.append(f"  {'reading, laps and drive, with pedals':<40}{first:>14.1f}")
            for route in ROUTES:
                cold = await asked(route)
                warm = min([await asked(route) for _ in range(rounds)])
                total += cold
                lines.append(f"  {route:<40}{cold:>14.1f}{warm:>10.1f}")
            lines.append(f"  {'together':<40}{total:>14.1f}")
            return lines


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_analytics", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three rounds instead of ten")
    parser.add_argument("--frames", type=int, nargs="*", default=[60_000, 360_000])
    given = parser.parse_args(argv)
    rounds = 3 if given.quick else 10
    track = Library.read(DATA / "tracks").tracks["larkfell"]
    for count in given.frames:
        for line in functions(track, count, rounds):
            print(line, flush=True)
        kinds: tuple[Backend, ...] = ("lightweight", "analytical")
        for kind in kinds:
            for line in asyncio.run(over_http(track, count, kind, rounds)):
                print(line, flush=True)


if __name__ == "__main__":
    main()
