"""Tables as parquet."""

import importlib
import io

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.session.recording import WIDE
from runtime.bridge.storage import exporting
from runtime.bridge.storage.errors import BadTable, NoRows, StoreBusy
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import (
    DRIVER,
    NOON,
    SEED,
    exported,
    frames,
    opened,
    recording,
    samples,
    series,
)


async def test_telemetry_has_its_columns_rows_and_groups(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "GROUP_ROWS", 500)
    await store.append_frames("s", frames(1200))
    export = await store.export("s", "telemetry")
    data = b"".join([batch async for batch in export.batches])
    file = pq.ParquetFile(io.BytesIO(data))
    table = pd.read_parquet(io.BytesIO(data))
    assert (data[:4], data[-4:]) == (b"PAR1", b"PAR1")
    assert export.rows == len(table) == 1200
    assert [file.metadata.row_group(n).num_rows for n in range(3)] == [500, 500, 200]
    assert list(table) == ["session_id", "frame_idx", *WIDE]
    assert table.frame_idx.tolist() == list(range(1200))
    read = await store.read_frames("s")
    for name in WIDE:
        assert np.array_equal(table[name].to_numpy(), read.columns[name], equal_nan=True)
    assert file.schema_arrow.field("lat").nullable
    assert not file.schema_arrow.field("timestamp").nullable


async def test_samples_are_ordered_by_name_then_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "GROUP_ROWS", 7)
    await store.append_signals("s", {"zeta": samples((1, 1), (0, 2)), "Ärger": series(20)})
    await store.append_signals("s", {"oil_temp_c": samples((0.5, 90))})
    export = await store.export("s", "telemetry_signals")
    data = b"".join([batch async for batch in export.batches])
    table = pd.read_parquet(io.BytesIO(data))
    assert export.rows == len(table) == 23
    assert table.signal_name.tolist() == ["oil_temp_c", "zeta", "zeta", *["Ärger"] * 20]
    assert table.t.tolist()[:3] == [0.5, 0, 1]
    assert table.units[0] == "C"
    assert table.units[1:].isna().all()
    assert [pq.ParquetFile(io.BytesIO(data)).metadata.row_group(n).num_rows for n in (0, 3)] == [
        7,
        2,
    ]


async def test_the_catalogue_and_the_capabilities_are_stamped_with_the_session(
    store: Store,
) -> None:
    await store.append_frames("s", frames(30))
    catalogue = pd.read_parquet(io.BytesIO(await exported(store, "s", "signal_registry")))
    useful = pd.read_parquet(io.BytesIO(await exported(store, "s", "capabilities")))
    assert set(catalogue.session_id) == {"s"}
    assert catalogue.signal_id.tolist() == list(range(1, len(SEED) + 1))
    assert catalogue.signal_id.dtype == np.int32
    assert useful.signal_name.tolist() == sorted(useful.signal_name)
    assert useful.useful.all()


async def test_only_four_tables_can_be_exported(store: Store) -> None:
    for table in ["", "sessions", "telemetry;--", "TELEMETRY", "x' OR '1'='1"]:
        await store.append_frames("s", frames(1))
        with pytest.raises(BadTable) as caught:
            await store.export("s", table)
        assert caught.value.status == 400


async def test_an_unknown_session_has_no_rows_in_any_table(store: Store) -> None:
    for table in exporting.TABLES:
        with pytest.raises(NoRows) as caught:
            await store.export("nobody", table)
        assert (caught.value.status, caught.value.session_id, caught.value.table) == (
            *(404, "nobody"),
            table,
        )


async def test_a_bare_session_has_a_catalogue_and_nothing_else(store: Store) -> None:
    await store.start_session(DRIVER, "s", "x", NOON)
    for table in ("telemetry", "telemetry_signals", "capabilities"):
        with pytest.raises(NoRows):
            await store.export("s", table)
    assert (await store.export("s", "signal_registry")).rows == len(SEED)


async def test_an_export_shows_the_moment_it_began(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "GROUP_ROWS", 100)
    await store.append_frames("s", frames(600), {"x": series(600)})
    for table in ("telemetry", "telemetry_signals"):
        export = await store.export("s", table)
        pieces = [await anext(export.batches)]
        await store.append_frames("s", frames(50, t0=50.0), {"x": series(300, t0=0.005)})
        pieces += [batch async for batch in export.batches]
        assert len(pd.read_parquet(io.BytesIO(b"".join(pieces)))) == export.rows


async def test_exports_that_are_not_read_to_the_end_give_their_place_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "MOST", 2)
    await store.append_frames("s", frames(600), {"x": series(600)})
    exports = [await store.export("s", "telemetry_signals") for _ in range(2)]
    for export in exports:
        await anext(export.batches)
    with pytest.raises(StoreBusy):
        await store.export("s", "telemetry")
    for export in exports:
        await export.batches.aclose()  # type: ignore[attr-defined]
    assert (await store.export("s", "telemetry")).rows == 600


async def test_without_duckdb_the_light_back_end_serves(
    path: "object", monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "duckdb" else find(name)
    )
    store = await opened(path, "auto")  # type: ignore[arg-type]
    assert store.backend == "lightweight"
    await store.close()


@pytest.mark.slow
async def test_a_recording_is_exported_with_little_memory(kind: Backend, store: Store) -> None:
    await store.import_recording("s", recording(120_000, signals=1))
    export = await store.export("s", "telemetry")
    sizes = [len(batch) async for batch in export.batches]
    assert len(sizes) >= 3
    assert max(sizes) < 8 << 20
