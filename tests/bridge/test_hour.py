"""A drive at 100 Hz goes through the bridge unchanged: imported, exported, read by others."""

import io
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from runtime.bridge.session.recording import WIDE, Recording
from runtime.bridge.storage.records import SessionMeta
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge
from tests.effort import repeats
from tools.drive import drive

DATA = Path(__file__).resolve().parents[2] / "data"
LAPS = repeats(4)
"""In `make test-full` an hour."""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_drive_is_the_same_for_duckdb_and_pandas(bridge: Bridge, tmp_path: Path) -> None:
    driven = drive(Library.read(DATA / "tracks").tracks["larkfell"], LAPS, hz=100)
    frames = driven.frames
    await bridge.service.db.import_recording("long", Recording(frames), SessionMeta(driver="Mia"))

    answer = await bridge.get("/session/long/export.parquet")
    path = tmp_path / "long.parquet"
    path.write_bytes(answer.body)

    assert int(answer.headers["X-Bridge-Rows"]) == len(frames)
    by_pandas = pd.read_parquet(io.BytesIO(answer.body))
    found = duckdb.sql(f"SELECT * FROM '{path}' ORDER BY frame_idx")
    assert found is not None
    by_duckdb = found.fetchnumpy()
    for name in WIDE:
        column = frames.columns[name]
        assert np.array_equal(by_pandas[name].to_numpy(), column, equal_nan=True), name
        read = np.ma.filled(np.ma.asarray(by_duckdb[name]), np.nan)
        assert np.array_equal(read, column, equal_nan=True), name
    assert by_pandas["frame_idx"].tolist() == list(range(len(frames)))
    laps = (await bridge.ok("GET", "/session/long/laps"))["laps"]
    times = [lap["duration_s"] for lap in laps if lap["kind"] == "lap"]
    assert times == pytest.approx(list(driven.lap_times_s), abs=0.002)
