"""A limit on the size of files (``ulimit -f``): writes say that the disk is full, reads go on."""

import json
import resource
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.bridge.storage.records import Backend
from tests.bridge.bridgekit import Json, launch
from tests.bridge.formats.vbo.vbokit import write_vbo
from tests.bridge.storage.storekit import opened

LIMIT = 1 << 20
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")


class Client:
    """Sends telemetry of one session and counts the frames that were acknowledged."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.acknowledged = 0
        self.t = 0.0

    def ask(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Json:
        """The JSON of an answer; that of a refusal must be 503 `disk_full`."""
        request = urllib.request.Request(self.url + path, body, {"Content-Type": kind})
        try:
            answer = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            content = json.load(answer)
        if answer.status != 200:
            assert (answer.status, content["code"]) == (503, "disk_full"), content
            assert answer.headers["Retry-After"] == "10"
        return content

    def frames(self, count: int) -> list[Json]:
        self.t += count / 100
        return [{"timestamp": self.t + at / 100, "rpm": at % 7000 / 3} for at in range(count)]

    def lines(self) -> Json:
        body = b"\n".join(json.dumps(frame).encode() for frame in self.frames(2000))
        answer = self.ask("/session/s/frames", body, "application/x-ndjson")
        self.acknowledged += answer.get("n_appended", 0)
        return answer

    def batch(self) -> Json:
        answer = self.ask("/session/s/frames", json.dumps({"frames": self.frames(50)}).encode())
        self.acknowledged += answer.get("n_appended", 0)
        return answer

    def frame(self) -> Json:
        answer = self.ask("/session/s/frame", json.dumps(self.frames(1)[0]).encode())
        self.acknowledged += "frame_idx" in answer
        return answer

    def signals(self) -> Json:
        return self.ask("/session/s/signals", json.dumps({"signals": [["boost", 1, 2]]}).encode())


def until_refused(send: Callable[[], Json]) -> None:
    for _ in range(500):
        if send().get("code") == "disk_full":
            return
    raise AssertionError("nothing is refused")


async def test_at_a_limit_of_the_file_size_writes_are_refused_until_it_is_lifted(
    tmp_path: Path, backend: Backend
) -> None:
    write_vbo(tmp_path / "drive.vbo")
    drive = json.dumps({"path": str(tmp_path / "drive.vbo"), "session_id": "drive"}).encode()
    process, url = launch(tmp_path, backend)
    client = Client(url)
    with process:
        try:
            client.lines()
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
            for send in (client.lines, client.batch, client.frame):
                until_refused(send)
            assert client.signals()["code"] == "disk_full"
            assert client.ask("/session/import", drive)["code"] == "disk_full"
            assert client.ask("/session/s")["n_frames"] == client.acknowledged > 2000
            assert client.ask("/health")["analytics_db"] is True

            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            for send in (client.lines, client.batch, client.frame, client.signals):
                assert "code" not in send()
            assert "code" not in client.ask("/session/import", drive)
        finally:
            process.terminate()
    assert process.returncode == 0
    store = await opened(tmp_path / "db", backend)
    assert len(await store.read_frames("s")) == client.acknowledged
    assert store.recovered_from is None
    await store.close()
