"""The managed system model: states of its file, downloads that fail and resume, its engine."""

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.llm.errors import (
    EngineFailed,
    LocalInitFailed,
    PromptTooLong,
    SysmodelBackgroundBlocked,
    SysmodelRuntimeError,
    SysmodelUnavailable,
)
from runtime.llm.inference import Turn
from runtime.llm.models.download import Pace
from runtime.llm.models.system import file as verification
from runtime.llm.models.system.file import Declared, ManagedFile, Verifier
from runtime.llm.models.system.foreground import Gate
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability, Status
from tests.llm.models.daemons import chat, collect, texts
from tests.llm.models.system.played import Workshop

MODEL = bytes(range(256)) * 4096  # 1 MiB
SHA = hashlib.sha256(MODEL).hexdigest()


class Turnstile:
    """A throttle that lets a download through a chunk at a time."""

    def __init__(self, chunks: int = 1) -> None:
        self.left = chunks
        self.waiting = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        assert seconds > 0
        if self.left > 0:
            self.left -= 1
            return
        self.waiting.set()
        await self.open.wait()


@asynccontextmanager
async def managed(
    folder: Path,
    *,
    source: Path | None = None,
    shop: Workshop | None = None,
    **options: object,
) -> AsyncIterator[ManagedFile]:
    path = folder / "sysmodel" / f"{SHA}.gguf"
    url = source.as_uri() if source is not None else None
    declared = Declared(path, SHA, len(MODEL), 512, url)
    record = path.with_suffix(".json")
    inner = {key: options.pop(key) for key in ("gate", "pace") if key in options}
    chosen = SysmodelSettings.model_construct(**options)  # type: ignore[arg-type]
    provider = ManagedFile(declared, shop or Workshop(), record, chosen, **inner)  # type: ignore[arg-type]

    try:
        yield provider
    finally:
        await provider.close()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "origin.gguf"
    path.write_bytes(MODEL)
    return path


def installed(folder: Path, data: bytes = MODEL) -> Path:
    path = folder / "sysmodel" / f"{SHA}.gguf"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


async def settled(provider: ManagedFile) -> Availability:
    """The state once no download runs and no file is being checked."""
    async with asyncio.timeout(30):
        if provider._download is not None:
            await asyncio.wait({provider._download})
        while (state := await provider.probe()).reason == "verifying":
            pass  # each look waits for the check
    return state


async def test_a_file_that_is_what_was_declared_is_available(tmp_path: Path) -> None:
    installed(tmp_path)
    async with managed(tmp_path) as provider:
        assert await settled(provider) == Availability(3)
        cells = await provider.probe_configs()

    assert cells["stable/fast"] == Availability(3)
    assert cells["stable/full"] == Availability(0, "not_configured")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(MODEL[:-1], "size_mismatch"), (MODEL[:-1] + b"x", "checksum_mismatch")],
)
async def test_a_bundled_file_that_fails_its_check_is_kept_and_not_used(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = installed(tmp_path, data)
    async with managed(tmp_path) as provider:
        assert await settled(provider) == Availability(0, reason)

    assert path.exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [(MODEL[:-1], "size_mismatch"), (MODEL[:-1] + b"x", "checksum_mismatch")],
)
async def test_a_downloaded_file_that_fails_its_check_is_deleted(
    tmp_path: Path, source: Path, data: bytes, reason: str
) -> None:
    path = installed(tmp_path, data)
    async with managed(tmp_path, source=source) as provider:
        assert await settled(provider) == Availability(2, reason)

    assert not path.exists()


async def test_a_missing_file_is_downloadable_only_where_it_can_be_had(
    tmp_path: Path, source: Path
) -> None:
    async with managed(tmp_path) as bundled:
        assert await bundled.probe() == Availability(0, "file_missing")
        with pytest.raises(SysmodelUnavailable):
            await bundled.download()
    async with managed(tmp_path, source=source, offline=True) as offline:
        assert await offline.probe() == Availability(0, "offline")
        with pytest.raises(SysmodelUnavailable):
            await offline.download()
    async with managed(tmp_path, source=source) as provider:
        assert await provider.probe() == Availability(2)


@pytest.mark.parametrize(("spare", "code"), [(-1, 0), (0, 2)])
async def test_a_download_needs_five_percent_more_room_than_its_size(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, spare: int, code: int
) -> None:
    room = len(MODEL) + len(MODEL) // 20 + spare
    monkeypatch.setattr("runtime.llm.models.download.count_free_bytes", lambda _: room)
    async with managed(tmp_path, source=source) as provider:
        state = await provider.probe()

    assert state == Availability(code, "disk_full" if code == 0 else None)


async def test_a_finished_download_is_not_hashed_again_not_even_by_the_next_process(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.models.system.file.hashlib", None)
    async with managed(tmp_path, source=source) as provider:
        await provider.download()
        assert (await settled(provider)).code == Status.AVAILABLE
    async with managed(tmp_path, source=source) as restarted:
        assert await restarted.probe() == Availability(3)


async def test_a_file_that_changes_is_checked_again(tmp_path: Path) -> None:
    path = installed(tmp_path)
    async with managed(tmp_path) as provider:
        assert (await settled(provider)).code == Status.AVAILABLE
        os.utime(path, ns=(1, 1))
        assert (await settled(provider)).code == Status.AVAILABLE
        path.write_bytes(MODEL[::-1])
        assert await settled(provider) == Availability(0, "checksum_mismatch")
        path.unlink()
        assert await settled(provider) == Availability(0, "file_missing")


async def test_a_download_that_was_cancelled_goes_on_where_it_was(
    tmp_path: Path, source: Path
) -> None:
    gate = Turnstile()
    async with managed(tmp_path, source=source, pace=Pace(60, 1 << 20, gate)) as provider:
        await provider.download()
        await gate.waiting.wait()
    gate = Turnstile(0)
    async with managed(tmp_path, source=source, pace=Pace(60, 1 << 20, gate)) as restarted:
        await restarted.download()
        await gate.waiting.wait()
        assert (await restarted.probe()).bytes_done == 3 << 18
        gate.open.set()
        assert await settled(restarted) == Availability(3)


async def test_a_flat_history_is_one_turn(tmp_path: Path) -> None:
    installed(tmp_path)
    shop = Workshop()
    async with managed(tmp_path, shop=shop, flatten=True) as provider:
        await settled(provider)
        await collect(provider.generate(chat("Hi", "Hello", "Why?")))

    flat = "user: Hi\n\nassistant: Hello\n\nuser: Why?\n\nassistant: "
    assert shop.asked[0][1].turns == (Turn("user", flat),)


async def test_one_reply_at_a_time_and_the_others_in_order(tmp_path: Path) -> None:
    installed(tmp_path)
    shop = Workshop()
    async with managed(tmp_path, shop=shop, max_concurrency=4) as provider:
        await settled(provider)
        wanted = [chat(str(n)) for n in range(4)]
        tasks = [asyncio.create_task(collect(provider.generate(one))) for one in wanted]
        await asyncio.gather(*tasks)

    assert shop.most_running == 1
    assert [asked.turns[0].content for _, asked in shop.asked] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("fault", "raised", "words"),
    [
        ({"start_fails": LocalInitFailed("no memory")}, SysmodelRuntimeError, "no memory"),
        (
            {"breaks": EngineFailed("gone")},
            SysmodelRuntimeError,
            "engine of the system model failed",
        ),
        (
            {"start_fails": EngineFailed("gone")},
            SysmodelRuntimeError,
            "engine of the system model failed",
        ),
        ({"start_fails": PromptTooLong("5 of 4")}, PromptTooLong, "5 of 4"),
    ],
)
async def test_an_engine_that_breaks_is_an_error_and_the_next_request_is_served(
    tmp_path: Path, fault: dict[str, Exception], raised: type[Exception], words: str
) -> None:
    installed(tmp_path)
    shop = Workshop(**fault)  # type: ignore[arg-type]
    async with managed(tmp_path, shop=shop) as provider:
        await settled(provider)
        with pytest.raises(raised, match=words):
            await collect(provider.generate(chat()))
        shop.start_fails = shop.breaks = None
        assert texts(await collect(provider.generate(chat()))) == "Brake late."


def shutting(*answers: bool) -> Callable[[], object]:
    left = list(answers)

    async def read() -> bool:
        return left.pop(0) if len(left) > 1 else left[0]

    return read


@pytest.mark.parametrize(("answers", "heard"), [((False,), []), ((True, True, False), ["Brake "])])
async def test_a_policy_blocks_before_and_during_a_reply_and_says_so(
    tmp_path: Path, answers: tuple[bool, ...], heard: list[str]
) -> None:
    installed(tmp_path)
    shop, ticks = Workshop(), iter(range(100))
    gate = Gate("on_ac", shutting(*answers), lambda: next(ticks))  # type: ignore[arg-type]
    async with managed(tmp_path, shop=shop, gate=gate) as provider:
        await settled(provider)
        pieces = aiter(provider.generate(chat()))
        got = [(await anext(pieces)).text for _ in heard]
        with pytest.raises(SysmodelBackgroundBlocked, match="policy") as failure:
            await anext(pieces)

    assert got == heard
    assert "on_ac" in failure.value.message
    assert shop.running == 0


DATA = b"weights" * 1000
DATA_SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(DATA)
    return path


def made(model: Path, size: int | None = len(DATA)) -> Verifier:
    return Verifier(model, DATA_SHA, size, model.parent / "deep" / "record.json")


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


def read(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
