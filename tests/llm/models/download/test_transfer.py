"""Downloads over HTTP: resuming, redirects, sources that lie, stall, die or change."""

import asyncio
import errno
import hashlib
import json
import signal
import sys
from pathlib import Path

import pytest

from runtime.llm.models.download import (
    Pace,
    Source,
    Transfer,
    TransferFailed,
    count_free_bytes,
    fetch_size,
)
from tests.llm.models.daemons import Asked, Script, head, scripted
from tests.llm.models.download.origin import HALF, KIND, MODEL, SHA, Origin


def made(address: str, folder: Path, **pace: float) -> Transfer:
    source = Source(f"{address}/m.gguf", SHA, len(MODEL))
    return Transfer(source, folder / "m.gguf", Pace(**pace))  # type: ignore[arg-type]


async def fails(transfer: Transfer) -> str:
    with pytest.raises(TransferFailed) as failure:
        await transfer.run()
    return failure.value.reason


async def interrupted(source: Origin, address: str, folder: Path) -> None:
    """Fetch half of the file, until the source hangs up."""
    source.cut_at = HALF

    async def taken(seconds: float) -> None:
        if transfer.done >= HALF:
            source.heard.set()

    pace = Pace(bytes_per_s=1 << 40, sleep=taken)
    transfer = Transfer(Source(f"{address}/m.gguf", SHA, len(MODEL)), folder / "m.gguf", pace)
    assert await fails(transfer) == "interrupted"
    source.cut_at = None


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


async def test_a_whole_file_arrives_and_nothing_else_stays(tmp_path: Path) -> None:
    async with scripted(Origin()) as origin:
        transfer = made(origin.address, tmp_path / "new" / "folder")
        await transfer.run()

    assert read(tmp_path / "new" / "folder" / "m.gguf") == MODEL
    assert left(tmp_path / "new" / "folder") == ["m.gguf"]
    assert transfer.done == len(MODEL)
    assert "range" not in origin.asked[0].headers


@pytest.mark.parametrize("tag", ['"v1"', None])
async def test_an_interrupted_download_resumes_only_the_version_it_began(
    tmp_path: Path, tag: str | None
) -> None:
    source = Origin(tag=tag)
    async with scripted(source) as origin:
        await interrupted(source, origin.address, tmp_path)
        await made(origin.address, tmp_path).run()

    resumed = {"range": f"bytes={HALF}-", "if-range": tag} if tag else {}
    sent = {name: origin.asked[1].headers[name] for name in resumed}
    assert sent == resumed
    assert ("range" in origin.asked[1].headers) is (tag is not None)
    assert read(tmp_path / "m.gguf") == MODEL
    assert left(tmp_path) == ["m.gguf"]


async def test_a_source_that_changed_meanwhile_is_fetched_from_its_start(tmp_path: Path) -> None:
    source = Origin(b"x" * len(MODEL))
    async with scripted(source) as origin:
        await interrupted(source, origin.address, tmp_path)
        source.data, source.tag = MODEL, '"v2"'
        await made(origin.address, tmp_path).run()

    assert read(tmp_path / "m.gguf") == MODEL


async def test_a_source_that_refuses_to_go_on_is_asked_for_everything(tmp_path: Path) -> None:
    source = Origin()
    async with scripted(source) as origin:
        await interrupted(source, origin.address, tmp_path)
        source.ranges = False
        await made(origin.address, tmp_path).run()

    assert read(tmp_path / "m.gguf") == MODEL
    assert len(origin.asked) == 3


async def test_damage_in_what_was_there_is_found_and_everything_fetched_anew(
    tmp_path: Path,
) -> None:
    source = Origin()
    async with scripted(source) as origin:
        await interrupted(source, origin.address, tmp_path)
        part = tmp_path / "m.gguf.part"
        write(part, b"!" + read(part)[1:])
        assert await fails(made(origin.address, tmp_path)) == "checksum_mismatch"
        assert left(tmp_path) == []
        await made(origin.address, tmp_path).run()

    assert read(tmp_path / "m.gguf") == MODEL


@pytest.mark.parametrize("size", [HALF, len(MODEL), len(MODEL) + 7])
async def test_a_part_without_its_note_is_not_trusted(tmp_path: Path, size: int) -> None:
    write(tmp_path / "m.gguf.part", b"x" * size)
    async with scripted(Origin()) as origin:
        await made(origin.address, tmp_path).run()

    assert read(tmp_path / "m.gguf") == MODEL


@pytest.mark.parametrize("note", ["{}", "[]", "not JSON", '{"validator": "a\\r\\nX: y"}'])
async def test_a_spoiled_note_means_a_fresh_start(tmp_path: Path, note: str) -> None:
    write(tmp_path / "m.gguf.part", MODEL[:HALF])
    write(tmp_path / "m.gguf.part.json", note.encode())
    async with scripted(Origin()) as origin:
        await made(origin.address, tmp_path).run()

    assert "range" not in origin.asked[0].headers


async def test_a_part_that_is_whole_needs_no_source(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf.part", MODEL)
    write(tmp_path / "m.gguf.part.json", json.dumps({"validator": '"v1"'}).encode())
    async with scripted(Origin()) as origin:
        await made(origin.address, tmp_path).run()

    assert origin.asked == []
    assert read(tmp_path / "m.gguf") == MODEL


async def test_a_source_that_falls_silent_is_given_up_and_resumed(tmp_path: Path) -> None:
    for stall_s in (0.1, 1.0, 5.0):  # a longer one where the machine was held before the half
        folder = tmp_path / f"{stall_s}"
        folder.mkdir()
        source = Origin()
        source.cut_at, source.stall = HALF, True
        async with scripted(source) as origin:
            assert await fails(made(origin.address, folder, stall_s=stall_s)) == "stalled"
            source.cut_at, source.stall = None, False
            await made(origin.address, folder).run()
        if origin.asked[1].headers.get("range") == f"bytes={HALF}-":
            return
    raise AssertionError("nothing was resumed")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (head("404 Not Found", KIND), "http_error"),
        (head("500 Oops", KIND), "http_error"),
        (head("204 No Content", KIND), "http_error"),
        (head("200 OK", KIND, f"Content-Length: {HALF}") + MODEL[:HALF], "size_mismatch"),
        (head("200 OK", KIND) + MODEL[:HALF], "interrupted"),
        (head("200 OK", KIND) + MODEL + b"x", "size_mismatch"),
        (head("200 OK", KIND) + MODEL[:-1] + b"!", "checksum_mismatch"),
        (head("200 OK", KIND, "Content-Encoding: gzip") + b"x", "http_error"),
        (head("206 Partial Content", KIND, "Content-Range: bytes 5-9/10") + b"x", "http_error"),
        (head("206 Partial Content", KIND) + b"x", "http_error"),
        (head("416 No", KIND), "range_refused"),
        (b"", "interrupted"),
        (b"junk\r\n\r\n", "interrupted"),
    ],
)
async def test_a_source_that_lies_leaves_no_model(
    tmp_path: Path, reply: bytes, reason: str
) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        await writer.drain()

    async with scripted(script) as origin:
        assert await fails(made(origin.address, tmp_path)) == reason

    assert "m.gguf" not in left(tmp_path)


async def test_a_source_without_end_is_cut_off_at_the_declared_size(tmp_path: Path) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", KIND))
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            await asyncio.sleep(0)

    async with scripted(script) as origin:
        assert await fails(made(origin.address, tmp_path)) == "size_mismatch"

    assert left(tmp_path) == []


def moving(target: str) -> Script:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head("302 Found", KIND, f"Location: {target}", "Content-Length: 0"))

    return script


async def test_a_redirect_on_this_machine_is_followed(tmp_path: Path) -> None:
    async with scripted(Origin()) as origin, scripted(moving(f"{origin.address}/x")) as mover:
        await made(mover.address, tmp_path).run()

    assert read(tmp_path / "m.gguf") == MODEL


@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://a.example/"]
)
async def test_a_redirect_that_is_not_permitted_is_not_followed(
    tmp_path: Path, target: str
) -> None:
    async with scripted(moving(target)) as mover:
        assert await fails(made(mover.address, tmp_path)) == "redirect_refused"


async def test_redirects_in_a_circle_end_after_five(tmp_path: Path) -> None:
    async with scripted(moving("/again")) as mover:
        assert await fails(made(mover.address, tmp_path)) == "redirect_refused"

    assert len(mover.asked) == 6


async def test_a_source_that_is_down_is_unreachable(tmp_path: Path) -> None:
    async with scripted(Origin()) as origin:
        address = origin.address
    assert await fails(made(address, tmp_path)) == "unreachable"


async def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.models.download.count_free_bytes", lambda _: len(MODEL))
    async with scripted(Origin()) as origin:
        source = Source(f"{origin.address}/m.gguf", SHA, len(MODEL))
        transfer = Transfer(source, tmp_path / "m.gguf")
        assert await fails(transfer) == "disk_full"

    assert origin.asked == []


@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOSPC, "disk_full"), (errno.EIO, "disk_error")]
)
async def test_a_disk_that_fails_while_writing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def broken(self: object, data: bytes) -> None:
        raise OSError(number, "as it happens")

    monkeypatch.setattr("runtime.llm.models.download.PartFile.write", broken)
    async with scripted(Origin()) as origin:
        assert await fails(made(origin.address, tmp_path)) == reason


async def test_a_local_source_that_is_no_file_is_missing(tmp_path: Path) -> None:
    for url in ((tmp_path / "none.gguf").as_uri(), tmp_path.as_uri()):
        transfer = Transfer(Source(url, SHA, len(MODEL)), tmp_path / "m.gguf")
        assert await fails(transfer) == "source_missing"


@pytest.mark.parametrize(
    ("reply", "size"),
    [
        (head("200 OK", KIND, "Content-Length: 12345"), 12345),
        (head("200 OK", KIND), None),
        (head("404 Not Found", KIND), "http_error"),
        (b"", "interrupted"),
    ],
)
async def test_a_source_is_asked_for_its_size(reply: bytes, size: int | str | None) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        await writer.drain()

    found: int | str | None
    async with scripted(script) as origin:
        try:
            found = await fetch_size(f"{origin.address}/m.gguf")
        except TransferFailed as failure:
            found = failure.reason

    assert found == size


def test_the_free_space_of_a_folder_that_is_not_there_yet_is_known(tmp_path: Path) -> None:
    assert count_free_bytes(tmp_path / "a" / "b") > 0


VICTIM = """
import asyncio, sys
from pathlib import Path
from runtime.llm.models.download import Pace, Source, Transfer
url, sha, size, target = sys.argv[1:]
asyncio.run(Transfer(Source(url, sha, int(size)), Path(target), Pace(60.0)).run())
"""


@pytest.mark.slow
async def test_a_killed_process_leaves_a_part_that_the_next_one_finishes(
    tmp_path: Path, root: Path
) -> None:
    big = MODEL * 4
    source = Origin(big)
    source.cut_at, source.stall = 3 * len(MODEL) + 5, True
    sha, target = hashlib.sha256(big).hexdigest(), tmp_path / "m.gguf"
    part = tmp_path / "m.gguf.part"
    async with scripted(source) as origin:
        url = f"{origin.address}/m.gguf"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", VICTIM, url, sha, str(len(big)), str(target), cwd=root
        )
        async with asyncio.timeout(30):
            while bytes_in(part) < 2 * len(MODEL):  # noqa: ASYNC110 -- another process writes it
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        source.cut_at, source.stall = None, False
        await Transfer(Source(url, sha, len(big)), target).run()

    first = int(origin.asked[1].headers["range"].removeprefix("bytes=").removesuffix("-"))
    assert first >= 2 * len(MODEL)
    assert read(target) == big


def bytes_in(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
