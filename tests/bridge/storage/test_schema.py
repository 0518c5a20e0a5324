"""Databases of other versions: older ones are brought up, newer ones are refused untouched."""

import sqlite3
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Final

import duckdb
import pytest

from runtime.bridge.storage import schema
from runtime.bridge.storage.errors import SchemaTooNew, StoreUnusable
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import SEED, frames, opened, pairs, samples

FOLDER: Final = Path(__file__).parent
NEXT: Final[tuple[schema.Step, ...]] = (
    *schema.STEPS,
    (
        schema.Table("extra", "id int, text text", "id"),
        "ALTER TABLE laps ADD COLUMN weather TEXT",
        "UPDATE laps SET weather = 'dry'",
    ),
)
BROKEN: Final[tuple[schema.Step, ...]] = (
    *schema.STEPS,
    ("ALTER TABLE laps ADD COLUMN weather TEXT", "UPDATE no_such_table SET a = 1"),
)


def run(path: Path, kind: Backend, *statements: str) -> list[tuple[object, ...]]:
    """Statements on a database from outside; the rows of the last one."""
    if kind == "lightweight":
        plain = sqlite3.connect(path)
        rows = [plain.execute(statement).fetchall() for statement in statements]
        plain.commit()
        plain.close()
    else:
        with duckdb.connect(str(path)) as other:
            rows = [other.execute(statement).fetchall() for statement in statements]
    return rows[-1]


def same(path: Path) -> Callable[[], bool]:
    """Tells whether the file is still what it is now."""
    before = path.read_bytes()
    return lambda: path.read_bytes() == before


async def filled(path: Path, kind: Backend) -> None:
    """A database of this version, closed."""
    store = await opened(path, kind)
    await store.append_frames("s", frames(700), {"x": samples((0, 1), (1, 2))})
    await store.close()


async def test_a_database_of_an_older_version_is_brought_up_and_keeps_its_rows(
    kind: Backend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(path, kind)
    run(path, kind, "INSERT INTO laps (id, session_id, lap_number) VALUES (1, 's', 1)")
    monkeypatch.setattr(schema, "STEPS", NEXT)
    for _ in range(2):
        later = await opened(path, kind)
        rows = "SELECT session_id, weather FROM laps"
        versions = "SELECT max(version), count(*) FROM schema_version"
        assert await later.read(methodcaller("rows", rows)) == [("s", "dry")]
        assert await later.read(methodcaller("rows", versions)) == [(2, 2)]
        assert len(await later.read_frames("s")) == 700
        await later.close()


async def test_a_migration_that_fails_leaves_the_old_version(
    kind: Backend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(path, kind)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", BROKEN)
        with pytest.raises(StoreUnusable, match="BRIDGE_DB"):
            await opened(path, kind)
    store = await opened(path, kind)
    assert len(await store.read_frames("s")) == 700
    assert pairs((await store.read_signals("s", ["x"]))["x"]) == [(0, 1), (1, 2)]
    await store.close()


async def test_a_database_of_a_newer_version_is_refused_untouched(
    kind: Backend, path: Path
) -> None:
    await filled(path, kind)
    run(path, kind, "INSERT INTO schema_version VALUES (99, 0, 7)")
    untouched = same(path)
    with pytest.raises(SchemaTooNew, match=r"version 99.*BRIDGE_DB"):
        await opened(path, kind)
    assert untouched()
    run(path, kind, "DELETE FROM schema_version WHERE version = 99")
    store = await opened(path, kind)
    assert store.schema_version == len(schema.STEPS)
    await store.close()


async def test_a_database_of_another_program_is_refused_untouched(
    kind: Backend, path: Path
) -> None:
    run(path, kind, "CREATE TABLE theirs (a INTEGER)", "INSERT INTO theirs VALUES (1)")
    untouched = same(path)
    with pytest.raises(StoreUnusable, match="not made by this program"):
        await opened(path, kind)
    assert untouched()


@pytest.mark.parametrize("version", range(1, len(schema.STEPS) + 1))
async def test_databases_of_every_version_so_far_open(
    kind: Backend, version: int, path: Path
) -> None:
    script = FOLDER / "versions" / f"{version}-{kind}.sql"
    statements = [line for line in script.read_text(encoding="utf-8").split(";\n") if line.strip()]
    if kind == "lightweight":
        statements.insert(0, "PRAGMA journal_mode = WAL")
    run(path, kind, *statements)
    store = await Store.open(path, kind, SEED)
    row = store.session("fixture")
    assert row is not None
    assert (row.driver, row.meta, row.n_frames, row.n_signals) == ("Zoë", {"a": 1}, 3, 13)
    read = await store.read_frames("fixture")
    assert read.columns["timestamp"].tolist() == [0.0, 0.5, 1.0]
    assert pairs((await store.read_signals("fixture", ["boost"]))["boost"]) == [(0, 1.5), (1, 2.5)]
    assert [lap.lap_time_s for lap in await store.laps("fixture")] == [61.25]
    assert [note.text for note in await store.notes("fixture")] == ["brake later"]
    assert [video.file_path for video in await store.video("fixture")] == ["a.mp4"]
    await store.close()


def test_a_fixture_is_there_for_every_version() -> None:
    names = {file.name for file in (FOLDER / "versions").iterdir()}
    assert names == {
        f"{version}-{kind}.sql"
        for version in range(1, len(schema.STEPS) + 1)
        for kind in ("lightweight", "analytical")
    }
