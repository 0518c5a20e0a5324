"""A catalogue that is half full forgets, at a start, the names of which nothing is stored."""

from pathlib import Path

import pytest

from runtime.bridge.storage import transaction
from runtime.bridge.storage.importing import import_recording
from runtime.bridge.storage.records import DISCOVERED, NOTHING, Backend, SignalRow
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import NOON, frames, opened, recording, series

UNUSED = [SignalRow(f"unused {at}", discovery=DISCOVERED) for at in range(8)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of twelve names."""
    monkeypatch.setattr(transaction, "MOST_DISCOVERED", 12)


def discovered(store: Store) -> dict[str, int]:
    """Names that were discovered, with their ids."""
    return {row.name: row.signal_id for row in store.registry() if row.discovery == DISCOVERED}


async def test_names_without_samples_go_and_those_with_samples_stay(
    kind: Backend, path: Path
) -> None:
    store = await opened(path, kind, *UNUSED)
    await store.append_frames("s", frames(20), {"boost": series(20)}, now_ms=NOON)
    await store.append_signals("s", {"oil": series(5_000)}, now_ms=NOON)
    await store.import_recording("i", recording(40), NOTHING, NOON)
    before = discovered(store)
    samples = await store.read_signals("s", ["boost", "oil"])
    await store.close()

    store = await opened(path, kind)
    after = discovered(store)
    again = await store.read_signals("s", ["boost", "oil"])
    total = await store.samples_total()
    await store.append_signals("s", {"new": series(1)})
    new = discovered(store)["new"]
    await store.close()

    assert set(before) - set(after) == {row.name for row in UNUSED}
    assert after == {name: before[name] for name in after}
    assert new == max(before.values()) + 1
    assert all(total[name] for name in after)
    for name, read in samples.items():
        assert (again[name].t.tolist(), again[name].value.tolist()) == (
            read.t.tolist(),
            read.value.tolist(),
        )


async def test_the_last_name_stays_so_that_no_id_is_given_out_twice(
    kind: Backend, path: Path
) -> None:
    store = await opened(path, kind, *UNUSED)
    last = max(discovered(store).values())
    await store.close()
    for _ in range(2):
        store = await opened(path, kind)
        assert discovered(store) == {"unused 7": last}
        await store.close()


async def test_an_import_that_broke_off_leaves_no_names(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    steps = import_recording("i", recording(40, signals=9), NOTHING, NOON)
    for step in list(steps)[:-1]:  # as a crash before the last commit leaves it
        await store.write(step)
    assert len(discovered(store)) == 9
    await store.close()
    store = await opened(path, kind)
    assert len(discovered(store)) == 1
    await store.close()


async def test_a_catalogue_with_room_is_left_alone(
    kind: Backend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "MOST_DISCOVERED", 16)
    store = await opened(path, kind, *UNUSED)
    await store.close()
    store = await opened(path, kind)
    assert len(discovered(store)) == len(UNUSED)
    await store.close()
