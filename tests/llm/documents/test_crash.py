"""Cuts off a program that writes to the store, again and again, and looks at what is left.

With each kill the power fails, where the machine has a compiler for `tests/faults/powerloss.c`.
"""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runtime.llm.documents.document import Hit
from runtime.llm.documents.store import DocumentStore, StoreSettings
from tests.effort import repeats
from tests.faults.powerloss import POSSIBLE, Disk
from tests.forker import ENDED, ROOT, command
from tests.llm.documents.kit import MODEL, named, query
from tests.llm.documents.writer import NAMES, TENANTS, VECTORS

CUTS = repeats(20)
EXACT_MAX = 40
Version = tuple[int, int]
"""The number of a version and its chunks; no chunks: the document was deleted."""
ABSENT: Version = (0, 0)


@dataclass
class Log:
    """What the killed programs have said."""

    kept: dict[tuple[str, str], Version] = field(default_factory=dict)
    """The last acknowledged write of each document."""
    begun: dict[str, tuple[str, Version]] = field(default_factory=dict)
    """The write of each tenant that was under way."""

    def read(self, line: str) -> None:
        word, tenant, *rest = line.split()
        if word == "done":
            name, version = self.begun.pop(tenant)
            self.kept[tenant, name] = version
        else:
            count = int(rest[2]) if word == "replace" else 0
            self.begun[tenant] = (rest[0], (int(rest[1]), count))

    def possible(self, tenant: str, name: str) -> list[Version]:
        """The versions that may be there now: the acknowledged one, or the one under way."""
        kept = [self.kept.get((tenant, name), ABSENT)]
        if tenant in self.begun and self.begun[tenant][0] == name:
            kept.append(self.begun[tenant][1])
        return kept


async def run_and_kill(
    forker: asyncio.subprocess.Process, folder: Path, seed: int, after: int, log: Log
) -> None:
    """Let the program run until it has said *after* lines, then a bit, and kill it."""
    assert forker.stdin is not None
    assert forker.stdout is not None
    lines = forker.stdout
    forker.stdin.write(json.dumps([str(folder), str(seed), str(EXACT_MAX)]).encode() + b"\n")
    pid = int(await lines.readline())
    try:
        assert await lines.readline() == b"open\n"
        async for line in first(lines, after):
            log.read(line)
        await asyncio.sleep(random.Random(seed).random() * 0.004)
    finally:
        os.kill(pid, signal.SIGKILL)
    while (line := (await lines.readline()).decode()) != ENDED:
        log.read(line)


async def first(lines: asyncio.StreamReader, count: int) -> AsyncIterator[str]:
    for _ in range(count):
        yield (await lines.readline()).decode()


async def assert_whole(store: DocumentStore, log: Log) -> None:
    """Each document is one that may be there, complete; what is found is what is there."""
    for tenant in TENANTS:
        own = store.for_tenant(tenant)
        stored = {one.id: one.chunk_count for one in (await own.documents()).documents}
        chunks: dict[str, list[Hit]] = {name: [] for name in stored}
        for hit in await own.search(query(VECTORS[0]), MODEL, 1_000):
            chunks[hit.document_id].append(hit)
        for number in range(NAMES):
            name = f"d{number:02}"
            hits = sorted(chunks.get(name, []), key=lambda hit: hit.chunk_index)
            versions = {int(hit.text.split()[0]) for hit in hits} or {0}
            there = (versions.pop(), len(hits))
            assert not versions, "chunks of two versions"
            possible = [v if v[1] else ABSENT for v in log.possible(tenant, name)]
            assert there in possible, (tenant, name, there, possible)
            assert stored.get(name, 0) == len(hits)
            assert [hit.chunk_index for hit in hits] == list(range(len(hits)))
            assert {hit.metadata for hit in hits} <= {str(there[0])}
            for hit in hits:
                row = int(hit.text.split()[2])
                assert abs(hit.score - float(VECTORS[row] @ VECTORS[0])) < 1e-6
            log.kept[tenant, name] = there
        log.begun.pop(tenant, None)


async def assert_index_and_rows_agree(store: DocumentStore) -> None:
    for tenant in TENANTS:
        own = store.for_tenant(tenant)
        for wanted in (VECTORS[1], VECTORS[200]):
            rows = await own.search(query(wanted), MODEL, 1_000)
            await store.settle()
            found = await own.search(query(wanted), MODEL, 10)
            assert [hit.score for hit in found] == [hit.score for hit in rows[:10]]
            assert {named(hit) for hit in found} <= {named(hit) for hit in rows}


async def cut_often(folder: Path, seeds: range) -> Log:
    """A store whose writer is cut off once for each seed; checked after each."""
    chance, log, disk = random.Random(seeds.start), Log(), Disk(folder)
    forker = await asyncio.create_subprocess_exec(
        *command("tests.llm.documents.writer"),
        cwd=ROOT,
        env=disk.environment if POSSIBLE else None,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    for seed in seeds:
        if POSSIBLE:
            await asyncio.to_thread(disk.settle)
        await run_and_kill(forker, disk.files, seed, chance.randrange(0, 60), log)
        if POSSIBLE:
            await asyncio.to_thread(disk.cut, chance)
        store = await DocumentStore.open(disk.files, StoreSettings(exact_max=EXACT_MAX))
        try:
            assert store.recovered_from is None
            await assert_whole(store, log)
            if seed % 5 == 0:
                await assert_index_and_rows_agree(store)
        finally:
            await store.close()
    await forker.communicate(b"")  # the end of its input ends it
    return log


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_writer_cut_off_leaves_every_document_old_or_new_and_all_it_acknowledged(
    tmp_path: Path,
) -> None:
    half = CUTS // 2
    runs = [
        cut_often(tmp_path / "one", range(1, half + 1)),
        cut_often(tmp_path / "two", range(half + 1, CUTS + 1)),
    ]

    for log in await asyncio.gather(*runs):
        assert len(log.kept) == len(TENANTS) * NAMES
