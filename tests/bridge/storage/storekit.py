"""What the tests of the store share: telemetry made from formulas, and stores of both kinds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Frames, Recording, Samples
from runtime.bridge.storage.records import Backend, Choice, SessionMeta, SignalRow
from runtime.bridge.storage.store import Store

KINDS: Final[tuple[Backend, ...]] = get_args(Backend)
NOON: Final = 1_700_000_000_000
"""14 November 2023, 22:13:20 UTC, in milliseconds."""
SEED: Final = (
    *(SignalRow(name, discovery="wide_table", min_useful_hz=5.0) for name in WIDE_SIGNALS),
    SignalRow("oil_temp_c", "C", "temperature", "powertrain", 5.0, 1.0, "static_obd2", "0x5C"),
)
DRIVER: Final = SessionMeta(driver="Ada", track="Oval")


def frames(
    n: int, t0: float = 0.0, hz: float = 100.0, **columns: float | Sequence[float]
) -> Frames:
    """*n* frames whose numbers follow from the time, with *columns* in place of some."""
    t = t0 + np.arange(n) / hz
    made = {
        "timestamp": t,
        "distance_m": t * 30.0,
        "speed_ms": 30.0 + np.sin(t),
        "g_lat": np.cos(t),
        "g_long": np.sin(t * 2),
        "combo_g": np.hypot(np.cos(t), np.sin(t * 2)),
        "brake_bar": np.where(np.sin(t) < 0, 20.0, np.nan),
        "throttle_pct": np.clip(100 * np.sin(t), 0, 100),
        "steering_deg": 90 * np.sin(t / 3),
        "rpm": 4000 + 1000 * np.sin(t),
        "lat": np.full(n, np.nan),
        "lon": np.full(n, np.nan),
    }
    for name, values in columns.items():
        made[name] = np.broadcast_to(np.asarray(values, np.float64), (n,)).copy()
    assert set(made) == set(WIDE)
    return Frames(made)


def samples(*pairs: tuple[float, float]) -> Samples:
    """Samples as (t, value) pairs."""
    t, value = zip(*pairs, strict=True) if pairs else ((), ())
    return Samples(np.array(t, np.float64), np.array(value, np.float64))


def series(n: int, t0: float = 0.0, hz: float = 100.0, seed: float = 1.0) -> Samples:
    """*n* samples of one signal."""
    t = t0 + np.arange(n) / hz
    return Samples(t, np.sin(t * seed))


def recording(n: int, signals: int = 2, **columns: float | Sequence[float]) -> Recording:
    """*n* frames and as many samples of each of some signals."""
    named = {f"signal_{number}": series(n, seed=number + 1.0) for number in range(signals)}
    return Recording(frames(n, 0.0, 100.0, **columns), named, created=1_600_000_000.0)


def pairs(given: Samples) -> list[tuple[float, float]]:
    """The samples as (t, value) pairs."""
    return list(zip(given.t.tolist(), given.value.tolist(), strict=True))


async def opened(path: Path, backend: Choice, *more: SignalRow) -> Store:
    """A store with the small catalogue, and *more*."""
    return await Store.open(path, backend, (*SEED, *more))


async def exported(store: Store, session_id: str, table: str) -> bytes:
    """A whole parquet file."""
    export = await store.export(session_id, table)
    return b"".join([batch async for batch in export.batches])


def equal(left: Frames, right: Frames) -> bool:
    """Whether two lots of frames are the same to the bit."""
    return left.columns.keys() == right.columns.keys() and all(
        left.columns[name].tobytes() == right.columns[name].tobytes() for name in left.columns
    )
