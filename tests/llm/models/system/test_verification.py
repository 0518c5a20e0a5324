"""Whether a file is the declared one, without hashing it twice."""

import asyncio
import hashlib
import json
import os
import threading
from pathlib import Path

import pytest

from runtime.llm.models.system import file as verification
from runtime.llm.models.system.file import Verifier

DATA = b"weights" * 1000
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(DATA)
    return path


def made(model: Path, size: int | None = len(DATA)) -> Verifier:
    return Verifier(model, SHA, size, model.parent / "deep" / "record.json")


async def judged(verifier: Verifier) -> str:
    finding = await verifier.look(wait_s=10)
    await verifier.close()
    return finding.verdict


@pytest.mark.parametrize(
    "spoil",
    [
        {"sha256": "0" * 64},
        {"size": 1},
        {"mtime_ns": 1},
        {"inode": 0},
    ],
)
async def test_a_record_of_another_file_does_not_count(
    model: Path, spoil: dict[str, object]
) -> None:
    assert await judged(made(model)) == "good"
    record = model.parent / "deep" / "record.json"
    write(model, DATA[::-1])
    write(record, json.dumps(json.loads(read(record)) | spoil).encode())
    assert await judged(made(model)) == "checksum_mismatch"


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "\x00", '{"sha256": 5}'])
async def test_a_spoiled_record_costs_a_check_and_nothing_else(model: Path, text: str) -> None:
    record = model.parent / "deep" / "record.json"
    record.parent.mkdir()
    write(record, text.encode())

    assert await judged(made(model)) == "good"


async def test_a_record_that_cannot_be_written_does_not_matter(model: Path) -> None:
    write(model.parent / "deep", b"a file where the folder should be")

    assert await judged(made(model)) == "good"


async def test_a_long_check_is_reported_as_such_and_shared_by_all_who_look(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, begun = threading.Event(), []
    original = Verifier._hash

    def slow(self: Verifier) -> str | None:
        begun.append(1)
        go_on.wait(10)
        return original(self)

    monkeypatch.setattr(Verifier, "_hash", slow)
    verifier = made(model)
    early = await asyncio.gather(*(verifier.look(wait_s=0.01) for _ in range(3)))
    go_on.set()
    late = await asyncio.gather(*(verifier.look(wait_s=10) for _ in range(3)))

    assert {finding.verdict for finding in early} == {"checking"}
    assert {finding.verdict for finding in late} == {"good"}
    assert len(begun) == 1


async def test_a_file_replaced_while_it_is_hashed_is_judged_anew(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Verifier._hash

    def replaced(self: Verifier) -> str | None:
        digest = original(self)
        write(model, DATA[::-1])
        os.utime(model, ns=(1, 1))
        return digest

    monkeypatch.setattr(Verifier, "_hash", replaced)
    verifier = made(model)
    assert (await verifier.look(wait_s=10)).verdict == "checking"
    monkeypatch.setattr(Verifier, "_hash", original)
    assert await judged(verifier) == "checksum_mismatch"


async def test_closing_stops_a_check(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = made(model)
    monkeypatch.setattr(verification, "_CHUNK", 1)
    assert (await verifier.look(wait_s=0)).verdict == "checking"
    await asyncio.wait_for(verifier.close(), 10)


async def test_a_file_that_cannot_be_read_is_an_error(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Verifier) -> str:
        raise OSError("as it happens")

    monkeypatch.setattr(Verifier, "_hash", broken)
    verifier = made(model)
    with pytest.raises(OSError, match="as it happens"):
        await verifier.look(wait_s=10)
    await verifier.close()


def read(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
