"""The lap analytics as one writes them in pandas, for `bench.bridge_analytics` to time.

Each function takes a data frame of the session with the number of the lap (0: none) and the lap
progress of every row, which pandas has no means to find, and the circuit.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from runtime.bridge.session.recording import VideoFrame
from runtime.bridge.track.model import Track

MINIS = 25


def stats(table: pd.DataFrame, track: Track) -> Any:
    """Largest and mean values, and the longest run at full throttle."""
    del track
    dt = table["timestamp"].diff().shift(-1).fillna(0.0)
    full = table["throttle_pct"] >= 95.0
    run = (full != full.shift()).cumsum()
    return {
        "top": table["speed_ms"].max() * 3.6,
        "mean": (table["speed_ms"] * dt).sum() / dt.sum() * 3.6,
        "combo": table["combo_g"].max(),
        "lat": table["g_lat"].abs().max(),
        "long": (table["g_long"].min(), table["g_long"].max()),
        "brake": table["brake_bar"].max(),
        "full": dt[full].groupby(run[full]).sum().max(),
        "moving": dt[table["speed_ms"] > 5.0].sum(),
    }


def friction(table: pd.DataFrame, track: Track) -> Any:
    """Histogram of the combined acceleration in tenths of its 99.5th percentile."""
    del track
    combo = table["combo_g"]
    used = combo / max(combo.quantile(0.995), 0.5)
    tenth = (used * 10).clip(0, 9.999).astype(int)
    step = max(1, len(table) // 1500)
    samples = table[["g_lat", "g_long"]].iloc[::step].head(1500).round(3).to_dict("records")
    return tenth.value_counts(normalize=True) * 100, (used > 1).mean() * 100, samples


def hustle(table: pd.DataFrame, track: Track) -> Any:
    """Share of frames at full throttle every 50 m."""
    del track
    driven = table[table["lap"] > 0]
    return (driven["throttle_pct"] >= 95.0).groupby((driven["p"] // 50).astype(int)).mean()


def polylines(table: pd.DataFrame, track: Track) -> Any:
    """Positions of each lap, the first of every 5 m."""
    del track
    driven = table[table["lap"] > 0]
    step = (driven["p"] // 5).astype(int)
    found = driven.groupby([driven["lap"], step])[["lat", "lon", "speed_ms"]].first()
    return {lap: part.to_numpy() for lap, part in found.groupby(level=0)}


def sync(video: Sequence[VideoFrame]) -> Callable[[pd.DataFrame, Track], Any]:
    """Each frame with the nearest video frame within 50 ms."""
    films = pd.DataFrame({"timestamp": [one.timestamp for one in video]})
    films["at"] = films["timestamp"]

    def joined(table: pd.DataFrame, track: Track) -> Any:
        del track
        return pd.merge_asof(table, films, on="timestamp", direction="nearest", tolerance=0.05)

    return joined


def lap_times(table: pd.DataFrame, track: Track) -> Any:
    """Time, sectors and top speed of each lap."""
    driven = table[table["lap"] > 0]
    laps = driven.groupby("lap").agg(
        first=("timestamp", "min"), last=("timestamp", "max"), top=("speed_ms", "max")
    )
    laps["time"] = laps["last"] - laps["first"]
    laps["delta"] = laps["time"] - laps["time"].min()
    return laps.join(sectors(table, track))


def _parts(table: pd.DataFrame, bounds: Sequence[float]) -> pd.DataFrame:
    driven = table[table["lap"] > 0]
    part = pd.cut(driven["p"], bounds, labels=False, include_lowest=True)
    times = driven.groupby([driven["lap"], part])["timestamp"].agg(["min", "max"])
    return (times["max"] - times["min"]).unstack()


def sectors(table: pd.DataFrame, track: Track) -> Any:
    """Seconds from the first to the last frame of each sector; to a frame, not interpolated."""
    return _parts(table, [0.0, *(one.end_m for one in track.sectors)])


def ideal(table: pd.DataFrame, track: Track) -> Any:
    """The sums of the best sectors and mini-sectors."""
    minis = _parts(table, [track.length_m * i / MINIS for i in range(MINIS + 1)])
    return sectors(table, track).min().sum(), minis.min().sum()


def pedals(table: pd.DataFrame, track: Track) -> Any:
    """Shares of the four states."""
    del track
    gas, stop = table["throttle_pct"].fillna(0) > 5.0, table["brake_bar"].fillna(0) > 1.0
    return table.groupby([gas, stop]).size() / len(table) * 100


def straights(table: pd.DataFrame, track: Track) -> Any:
    """Top speed of each lap on each straight."""
    found = {}
    for one in track.straights:
        if one.start_m <= one.end_m:
            here = table[table["p"].between(one.start_m, one.end_m)]
        else:
            here = table[(table["p"] >= one.start_m) | (table["p"] <= one.end_m)]
        found[one.name] = here.groupby("lap")["speed_ms"].max()
    return found


def compare(table: pd.DataFrame, track: Track) -> Any:
    """Two laps every 5 m, interpolated over the progress."""
    at = np.arange(0.0, track.length_m, 5.0)
    found = []
    for lap in (2, 1):
        own = table[table["lap"] == lap].sort_values("p")
        names = ["timestamp", "speed_ms", "throttle_pct", "brake_bar", "g_lat"]
        found.append(pd.DataFrame({name: np.interp(at, own["p"], own[name]) for name in names}))
    a, b = found
    return (a["timestamp"] - a["timestamp"][0]) - (b["timestamp"] - b["timestamp"][0])
