"""Files from addresses and paths: whole and checked under their names, or not there at all."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from runtime.llm.models.catalog import scan
from tests.llm.commands.pull.pullkit import Puller
from tests.llm.models.daemons import Asked, Script, head, scripted
from tests.llm.models.download.origin import KIND, Origin
from tests.llm.tinymodel import Shape, write_random

NAME = "tiny.gguf"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file that is fit to be a model."""
    return write_random(tmp_path_factory.mktemp("source") / NAME)


@pytest.fixture(scope="module")
def data(source: Path) -> bytes:
    """What is in it."""
    return source.read_bytes()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A model of some megabytes: more than what lies in buffers when a connection breaks."""
    shape = Shape(width=128, vocab=6000)
    return write_random(tmp_path_factory.mktemp("large") / NAME, shape).read_bytes()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_a_model_comes_from_an_address(pull: Puller, data: bytes) -> None:
    async with scripted(Origin(data)) as origin:
        said = await pull(f"{origin.address}/a/{NAME}?download=1", "--sha256", sha(data).upper())

    assert (said.status, pull.left) == (0, [NAME])
    assert (pull.models / NAME).read_bytes() == data
    assert f"{pull.models / NAME} (" in said.out
    assert sha(data) in said.out
    assert [found.id for found in scan(pull.models)[0]] == ["tiny"]


async def test_a_download_that_breaks_off_goes_on_by_itself_while_something_arrives(
    pull: Puller, large: bytes
) -> None:
    source = Origin(large)
    source.cut_at = len(large) // 2
    source.heard.set()
    async with scripted(source) as origin:
        said = await pull(f"{origin.address}/{NAME}", "--sha256", sha(large))

    assert said.status == 0
    assert (pull.models / NAME).read_bytes() == large
    first, second, *others = [asked.headers.get("range") for asked in origin.asked]
    assert (first, second) == (None, None)  # its size, then its bytes
    assert others
    assert all(others)


def half_of(data: bytes) -> Script:
    """A source that begins well and has nothing more for whoever comes again."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        start = int(asked.headers.get("range", "bytes=0-")[6:-1])
        status = "206 Partial Content" if start else "200 OK"
        spot = [f"Content-Range: bytes {start}-{len(data) - 1}/{len(data)}"] if start else []
        size = f"Content-Length: {len(data) - start}"
        writer.write(head(status, KIND, size, 'ETag: "v1"', *spot))
        writer.write(data[start : len(data) // 2])
        await writer.drain()
        if start:
            writer.transport.abort()

    return script


async def test_what_arrived_before_a_break_is_kept_and_the_next_command_goes_on(
    pull: Puller, large: bytes
) -> None:
    async with scripted(half_of(large)) as origin:
        said = await pull(f"{origin.address}/{NAME}", "--sha256", sha(large))
    assert said.status == 1
    assert "the same command resumes" in said.complaint
    assert scan(pull.models)[0] == []
    kept = next((pull.models / ".pull").glob("*.part")).stat().st_size

    async with scripted(Origin(large)) as origin:
        said = await pull(f"{origin.address}/{NAME}", "--sha256", sha(large))
    assert (said.status, pull.left) == (0, [NAME])
    assert 0 < kept <= len(large) // 2
    assert origin.asked[1].headers["range"] == f"bytes={kept}-"
    assert (pull.models / NAME).read_bytes() == large


def answering(status: str, *extra: str, body: bytes = b"") -> Script:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head(status, KIND, *extra) + body)
        await writer.drain()

    return script


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (answering("404 Not Found", "Content-Length: 0"), "status 404"),
        (answering("302 Found", "Location: http://10.0.0.1/x.gguf"), "redirects to a forbidden"),
        (answering("302 Found", "Location: file:///etc/passwd"), "redirects to a forbidden"),
        (answering("302 Found", "Location: /again"), "more than 5 redirects"),
        (answering("200 OK", body=b"no length"), "--size BYTES"),
        (answering("200 OK", "Content-Encoding: gzip"), "compressed"),
        (answering("200 OK", "Content-Length: 99999999999999"), "not enough free space"),
    ],
)
async def test_a_source_of_no_use_is_told_in_one_line(
    pull: Puller, script: Script, words: str
) -> None:
    async with scripted(script) as origin:
        said = await pull(f"{origin.address}/{NAME}", "--sha256", "0" * 64)

    assert (said.status, pull.left) == (1, [])
    assert words in said.complaint
    assert said.complaint.startswith("pull: ")


async def test_a_size_from_the_user_serves_where_the_source_tells_none(
    pull: Puller, data: bytes
) -> None:
    async with scripted(answering("200 OK", body=data)) as origin:
        address = f"{origin.address}/{NAME}"
        said = await pull(address, "--sha256", sha(data), "--size", str(len(data)))
        wrong = await pull(address, "--sha256", "1" * 64, "--size", "77", "--name", "other")

    assert (said.status, wrong.status) == (0, 1)
    assert "the declared size" in wrong.complaint


@pytest.mark.parametrize("form", ["path", "url"])
def test_a_file_of_this_disk_needs_no_checksum(pull: Puller, source: Path, form: str) -> None:
    given = str(source) if form == "path" else source.as_uri()
    said = pull.run(given)

    assert (said.status, pull.left) == (0, [NAME])
    assert sha(source.read_bytes()) in said.out
    assert source.exists()


def test_a_model_that_is_there_is_left_alone(pull: Puller, source: Path) -> None:
    pull.run(str(source))
    before = (pull.models / NAME).stat()
    said = pull.run(str(source))
    itself = pull.run(str(pull.models / NAME))

    assert (said.status, itself.status) == (0, 0)
    assert "already installed" in said.out
    assert (pull.models / NAME).stat().st_mtime_ns == before.st_mtime_ns


def test_another_file_of_that_name_is_replaced_only_by_force(pull: Puller, source: Path) -> None:
    pull.models.mkdir()
    (pull.models / NAME).write_bytes(b"mine")
    refused = pull.run(str(source))
    kept = (pull.models / NAME).read_bytes()
    forced = pull.run(str(source), "--force")

    assert (refused.status, kept) == (1, b"mine")
    assert "--force" in refused.complaint
    assert (forced.status, pull.left) == (0, [NAME])
    assert (pull.models / NAME).read_bytes() == source.read_bytes()


@pytest.mark.parametrize("rival", ["tiny.GGUF", "tiny.onnx", "tiny-00001-of-00002.gguf"])
def test_a_file_that_would_hide_the_model_or_be_hidden_is_named(
    pull: Puller, source: Path, rival: str
) -> None:
    pull.models.mkdir()
    (pull.models / rival).write_bytes(b"mine")
    said = pull.run(str(source), "--force")
    beside = pull.run(str(source), "--name", "other")

    assert (said.status, beside.status) == (1, 0)
    assert said.complaint.startswith(f"pull: {rival} in the models folder")
    assert pull.left == sorted([rival, "other.gguf"])


def test_the_parts_of_a_split_model_are_no_rivals(pull: Puller, source: Path) -> None:
    for part in ("x-00001-of-00002", "x-00002-of-00002"):
        assert pull.run(str(source), "--name", part).status == 0

    assert [found.id for found in scan(pull.models)[0]] == ["x"]


@pytest.mark.parametrize(
    ("name", "file"),
    [("other", "other.gguf"), ("other.gguf", "other.gguf"), ("v1.5", "v1.5.gguf"), ("é", "é.gguf")],
)
def test_a_model_may_have_another_name(pull: Puller, source: Path, name: str, file: str) -> None:
    assert pull.run(str(source), "--name", name).status == 0
    assert pull.left == [file]


@pytest.mark.parametrize(
    "words",
    [
        ["https://models.example/tiny.gguf"],  # no checksum
        ["http://models.example/tiny.gguf", "--sha256", "0" * 64],
        ["ftp://models.example/tiny.gguf", "--sha256", "0" * 64],
        ["https://a:b@models.example/tiny.gguf", "--sha256", "0" * 64],
        ["https://models.example/tiny.bin", "--sha256", "0" * 64],
        ["https://models.example/..%2F..%2Ftiny.gguf", "--sha256", "0" * 64],
        ["https://models.example/", "--sha256", "0" * 64],
        ["https://models.example/tiny.gguf", "--sha256", "0" * 63],
        ["https://models.example/tiny.gguf", "--sha256", "0" * 64, "--size", "0"],
        ["https://models.example/tiny.gguf", "--sha256", "0" * 64, "--size", "many"],
        ["SOURCE", "--name", "../tiny"],
        ["SOURCE", "--name", ".hidden"],
        ["SOURCE", "--name", "sysmodel-builtin"],
        ["SOURCE", "--name", "a\nb"],
        ["SOURCE", "--vocab", "SOURCE"],
        ["SOURCE", "--vocab-sha256", "0" * 64],
        ["SOURCE", "--half"],
        ["SOURCE", "--unknown"],
        ["SOURCE", "minilm"],
        [],
        ["minilm", "--sha256", "0" * 64],
        ["minilm", "--name", "x"],
    ],
)
def test_a_command_that_cannot_be_meant_is_refused(
    pull: Puller, source: Path, words: list[str]
) -> None:
    said = pull.run(*(str(source) if word == "SOURCE" else word for word in words))

    assert (said.status, pull.left) == (2, [])
    assert said.err


@pytest.mark.parametrize("data", [b"", b"GGUF", b"no model at all" * 100])
def test_a_file_that_is_no_gguf_never_gets_its_name(
    pull: Puller, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / NAME).write_bytes(data)
    said = pull.run(str(tmp_path / NAME))

    assert (said.status, pull.left) == (1, [])
    assert "cannot be used" in said.complaint


@pytest.mark.parametrize("flags", [[], ["--sha256", "0" * 64]])
@pytest.mark.parametrize("what", ["missing", "folder", "pipe"])
def test_a_path_that_is_no_file_is_told(
    pull: Puller, tmp_path: Path, what: str, flags: list[str]
) -> None:
    if what == "folder":
        (tmp_path / NAME).mkdir()
    if what == "pipe":
        os.mkfifo(tmp_path / NAME)
    said = pull.run(str(tmp_path / NAME), *flags)

    assert said.status == 1
    assert said.complaint == f"pull: there is no file {tmp_path / NAME}"


def test_a_folder_that_cannot_be_made_is_told(pull: Puller, source: Path) -> None:
    pull.models.write_bytes(b"a file where the folder should be")
    said = pull.run(str(source))

    assert said.status == 1
    assert "cannot be used" in said.complaint


def test_a_name_that_is_taken_by_a_folder_is_told(pull: Puller, source: Path) -> None:
    (pull.models / NAME).mkdir(parents=True)
    said = pull.run(str(source), "--force")

    assert said.status == 1
    assert "is not a file" in said.complaint


async def test_two_pulls_in_one_folder_do_not_meet(pull: Puller, source: Path, data: bytes) -> None:
    slow = Origin(data)
    slow.cut_at, slow.stall = 1000, True
    async with scripted(slow) as origin:
        words = [f"{origin.address}/{NAME}", "--sha256", sha(data), "--size", str(len(data))]
        first = asyncio.ensure_future(pull(*words))
        await origin.came.wait()
        second = await pull(str(source), "--name", "second")
        slow.stall = False
        slow.cut_at = None
    await first  # the end of the server ends it

    assert second.status == 1
    assert "another pull is running" in second.complaint
