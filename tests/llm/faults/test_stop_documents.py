"""A server that is told to stop while documents are embedded answers all, and cleans up."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.llm.engine.onnxkit import write_tiny

ROOT: Final = Path(__file__).resolve().parents[3]
LONG: Final = "the car will turn into the corner and brake late. " * 60_000
"""Takes longer to embed than a stop waits."""


class Post(threading.Thread):
    """A document on its way."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__()
        self.port = port
        self.body = json.dumps({"id": name, "text": LONG, "model": "tiny-embed"})
        self.status = 0

    def run(self) -> None:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=40)) as connection:
            connection.request("POST", "/v1/documents", self.body)
            with connection.getresponse() as answer:
                self.status = answer.status


def start(folder: Path, models: Path) -> tuple[subprocess.Popen[bytes], int]:
    flags = ["--port", "0", "--data-dir", str(folder), "--models-dir", str(models)]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.llm", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    return process, int(json.loads(process.stdout.readline())["port"])


def encoder_of(process: subprocess.Popen[bytes]) -> psutil.Process:
    """The encoder process, once it is there."""
    while True:
        for child in psutil.Process(process.pid).children(recursive=True):
            if "runtime.llm.engine.worker" in child.cmdline():
                return child
        time.sleep(0.02)


def wait_for_work(port: int, count: int) -> None:
    """Until so many requests have arrived and an encoder works."""
    for looks in itertools.count(1):
        with closing(HTTPConnection("127.0.0.1", port, timeout=40)) as connection:
            connection.request("GET", "/metrics")
            with connection.getresponse() as answer:
                arrived = int(answer.headers["X-Request-Id"]) - looks
                loaded = b"\nllmsvc_embedding_engines_loaded 1\n" in answer.read()
        if arrived == count and loaded:
            return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_documents_under_way_are_answered_and_a_frozen_encoder_is_not_left_behind(
    tmp_path: Path,
) -> None:
    write_tiny(tmp_path / "models")
    process, port = start(tmp_path / "data", tmp_path / "models")
    with process:
        posts = [Post(port, f"d{number}") for number in range(3)]
        for post in posts:
            post.start()
        encoder = encoder_of(process)
        wait_for_work(port, len(posts))
        encoder.send_signal(signal.SIGSTOP)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
        for post in posts:
            post.join(40)
    assert [post.status for post in posts] == [503, 503, 503]
    assert not encoder.is_running() or encoder.status() == psutil.STATUS_ZOMBIE
    store = tmp_path / "data" / "documents"
    assert not list(store.glob("*-wal"))
