"""Opens many chat streams at once and reads them until it is ended: the load beside which to probe.

Runs as a process of its own, so that reading does not delay the probes.
"""

import argparse
import contextlib
import http
import selectors
import socket
import sys
import time
from collections.abc import Sequence
from typing import Final

from bench.llm_client import Ask, prompt, user

SOURCE: Final = "127.0.0.2"
"""Streams come from another address than probes: a server may limit connections an address."""


def open_streams(port: int, model: str, count: int, tokens: int, field: str) -> list[socket.socket]:
    """Send *count* chat requests, each on a connection of its own, without reading."""
    streams = []
    for number in range(count):
        asked = Ask(model, [user(prompt(16, number))], tokens, limit_field=field)
        body = asked.body()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\nUser-Agent: bench-load-{number}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        link = _connect(port)
        link.sendall(head.encode() + body)
        streams.append(link)
    return streams


def _connect(port: int) -> socket.socket:
    with contextlib.suppress(OSError):
        return socket.create_connection(("127.0.0.1", port), 5.0, (SOURCE, 0))
    return socket.create_connection(("127.0.0.1", port), 5.0)


def drain(streams: Sequence[socket.socket], seconds: float) -> dict[str, int]:
    """Read all streams for *seconds*, or until they end; how many began, failed and ended."""
    counts = {"began": 0, "refused": 0, "ended": 0}
    silent = set(streams)
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as ready:
        for stream in streams:
            stream.setblocking(False)
            ready.register(stream, selectors.EVENT_READ, stream)
        while ready.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in ready.select(left):
                link: socket.socket = key.data
                data = _read(link)
                if link in silent and data:
                    silent.discard(link)
                    answered = f" {http.HTTPStatus.OK.value} ".encode() in data[:16]
                    counts["began" if answered else "refused"] += 1
                if not data or data.endswith(b"0\r\n\r\n"):
                    counts["ended"] += 1
                    ready.unregister(link)
    return counts


def _read(link: socket.socket) -> bytes:
    try:
        return link.recv(65536)
    except OSError:
        return b""


def main(argv: Sequence[str] | None = None) -> int:
    """Say ``open`` when every request is sent, read until the time is over, say what came."""
    parser = argparse.ArgumentParser(prog="python -m bench.llm_load", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("model")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--field", default="max_completion_tokens")
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args(argv)
    streams = open_streams(given.port, given.model, given.streams, given.tokens, given.field)
    print("open", flush=True)
    counts = drain(streams, given.seconds)
    print(" ".join(f"{name} {number}" for name, number in counts.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
