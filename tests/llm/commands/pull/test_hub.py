"""Files of a hub by their name, its checksum, and what of an address is never repeated."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from tests.llm.commands.pull.pullkit import Puller
from tests.llm.models.daemons import Asked, head, scripted
from tests.llm.models.download.origin import KIND, Origin
from tests.llm.tinymodel import Shape, write_random

TOKEN = "hf_notForAnybodyElse"
KEY = "X-Signature=s3cr3t"
FILE = "sub/tiny-q8_0.gguf"
NAMED = f"hf:maker/tiny.GGUF:{FILE}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    shape = Shape(width=128, vocab=6000)  # more than what lies in buffers when a connection breaks
    return write_random(tmp_path_factory.mktemp("source") / "m.gguf", shape).read_bytes()


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)


class Hub:
    """Sends whoever asks for the file to another host, and names its checksum before."""

    def __init__(self, data: bytes, store: str, status: str = "302 Found") -> None:
        self.status = status
        digest = hashlib.sha256(data).hexdigest()
        self.headers = [f'X-Linked-ETag: "{digest}"', f"X-Linked-Size: {len(data)}"]
        self.headers += ['ETag: "0123456789abcdef0123456789abcdef01234567"']
        self.store = store.replace("127.0.0.1", "localhost")

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path.startswith("/maker/tiny.GGUF/"):  # a repository that was renamed
            moved = f"Location: /new{asked.path}"
            writer.write(head("307 Temporary Redirect", KIND, "Content-Length: 0", moved))
        else:
            away = f"Location: {self.store}/blob?{KEY}"
            writer.write(head(self.status, KIND, "Content-Length: 0", away, *self.headers))
        await writer.drain()


async def test_a_file_comes_by_its_name_with_the_checksum_of_the_hub(
    pull: Puller, data: bytes
) -> None:
    async with scripted(Origin(data)) as store, scripted(Hub(data, store.address)) as hub:
        said = await pull(NAMED, "--mirror", hub.address)

    assert (said.status, pull.left) == (0, ["tiny-q8_0.gguf"])
    assert (pull.models / "tiny-q8_0.gguf").read_bytes() == data
    assert hashlib.sha256(data).hexdigest() in said.err
    assert hub.asked[0].line.startswith(f"HEAD /maker/tiny.GGUF/resolve/main/{FILE} ")
    assert {asked.headers["authorization"] for asked in hub.asked} == {f"Bearer {TOKEN}"}
    assert all("authorization" not in asked.headers for asked in store.asked)
    assert TOKEN not in said.out + said.err
    assert "s3cr3t" not in said.out + said.err


async def test_a_revision_may_be_named(pull: Puller, data: bytes) -> None:
    async with scripted(Origin(data)) as store, scripted(Hub(data, store.address)) as hub:
        said = await pull(f"hf:maker/other@v1.0:{FILE}", "--mirror", hub.address)
    assert said.status == 0
    assert f"/maker/other/resolve/v1.0/{FILE} " in hub.asked[0].line


async def test_bytes_that_are_not_what_the_hub_named_are_not_kept(
    pull: Puller, data: bytes
) -> None:
    async with scripted(Origin(data[::-1])) as store, scripted(Hub(data, store.address)) as hub:
        said = await pull(NAMED, "--mirror", hub.address)
    assert (said.status, pull.left) == (1, [])
    assert said.complaint == f"pull: {NAMED} does not have the expected checksum; it was deleted"


async def test_a_hub_without_a_checksum_is_told_and_one_of_the_user_serves(
    pull: Puller, data: bytes
) -> None:
    async with scripted(Origin(data)) as store:
        plain = Hub(data, store.address)
        plain.headers = plain.headers[2:]
        async with scripted(plain) as hub:
            said = await pull(NAMED, "--mirror", hub.address)
            digest = hashlib.sha256(data).hexdigest()
            given = await pull(NAMED, "--mirror", hub.address, "--sha256", digest)
    assert (said.status, given.status) == (2, 0)
    assert f"the hub has no SHA-256 of {NAMED}" in said.complaint


@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found"])
async def test_a_file_that_the_hub_does_not_give_is_told(
    pull: Puller, data: bytes, status: str
) -> None:
    refusing = Hub(data, "http://127.0.0.1:1", status)
    refusing.headers = []
    async with scripted(refusing) as hub:
        said = await pull(NAMED, "--mirror", hub.address)
    assert (said.status, pull.left) == (1, [])
    assert (
        f"status {status[:3]}; if its repository is private or gated, set HF_TOKEN"
        in said.complaint
    )


@pytest.mark.parametrize("name", ["hf:", "hf:a/b", "hf:a:b.gguf", "hf:a/b:../c.gguf", "hf:a/b:c?d"])
def test_what_names_no_file_of_a_hub_is_refused(pull: Puller, name: str) -> None:
    said = pull.run(name)
    assert said.status == 2
    assert "is not a file of a hub" in said.complaint


@pytest.mark.parametrize(
    "words",
    [
        [f"https://me:pa55w0rd@example.invalid/m.gguf?{KEY}#s3cr3t", "--sha256", "0" * 64],
        [f"https://example.invalid/m.gguf?{KEY}"],
        [f"https://example.invalid/m.txt?{KEY}", "--sha256", "0" * 64],
        [f"ftp://me:pa55w0rd@example.invalid/m.gguf?{KEY}", "--sha256", "0" * 64],
        [f"http://127.0.0.1:1/m.gguf?{KEY}", "--sha256", "0" * 64],
        [f"http://[me:pa55w0rd@/m.gguf?{KEY}", "--sha256", "0" * 64],
        ["hf:a/b:c.gguf", "--mirror", f"https://me:pa55w0rd@example.invalid/?{KEY}"],
    ],
)
def test_what_may_be_a_key_in_an_address_is_not_repeated(
    pull: Puller, tmp_path: Path, words: list[str]
) -> None:
    said = pull.run(*words)
    assert said.status in (1, 2)
    written = [path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    for text in (said.out, said.err, *written):
        assert "pa55w0rd" not in text
        assert "s3cr3t" not in text
