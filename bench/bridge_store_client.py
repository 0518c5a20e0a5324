"""A load generator that costs little: ``bridge_store_client.py PORT SECONDS CLIENTS FRAMES [HZ]``.

Every client sends its next request when the answer to the last one is there, over one connection
that is kept alive. With HZ that many requests a second are sent, whatever became of those before.
"""

import json
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson

SESSIONS: Final = 4
_END: Final = b"\r\n\r\n"


class Figures(NamedTuple):
    """What the load reached."""

    per_s: float
    """Frames that were acknowledged."""
    p50_ms: float
    p99_ms: float
    longest_ms: float
    client_cpu: float
    """Of one core: beyond 0.9 the client is what was measured."""
    refused: int


def request(session: str, frames: int, at: float) -> bytes:
    """One or many frames of a drive, all channels."""
    rows = [
        {
            "timestamp": at + row / 100.0,
            "speed_ms": 41.25,
            "g_lat": 0.75,
            "g_long": -0.25,
            "brake_bar": 12.5,
            "throttle_pct": 80.0,
            "steering_deg": -3.5,
            "rpm": 6500.0,
            "lat": 54.5,
            "lon": -3.25,
        }
        for row in range(frames)
    ]
    path = "frame" if frames == 1 else "frames"
    body = orjson.dumps(rows[0] if frames == 1 else {"frames": rows})
    return (
        f"POST /session/{session}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


@dataclass(slots=True, eq=False)
class Client:
    """One connection."""

    wire: socket.socket
    message: bytes
    sent: float = 0.0
    got: bytes = b""
    taken: list[float] = field(default_factory=list)
    refused: int = 0

    def send(self, now: float) -> None:
        """The next request."""
        self.sent = now
        self.wire.sendall(self.message)

    def receive(self, now: float) -> bool:
        """Whether the answer is complete."""
        data = self.wire.recv(65536)
        if not data:
            raise ConnectionError("the bridge has closed the connection")
        self.got += data
        head, end, body = self.got.partition(_END)
        if not end:
            return False
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return False
        self.got = b""
        self.taken.append(now - self.sent)
        self.refused += not head.startswith(b"HTTP/1.1 200")
        return True


def flood(clients: list[Client], seconds: float) -> float:
    """All clients as fast as they are answered; seconds taken."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        client.wire.setblocking(True)
        waiting.register(client.wire, selectors.EVENT_READ, client)
    started = time.perf_counter()
    for client in clients:
        client.send(time.perf_counter())
    until, busy = started + seconds, len(clients)
    while busy:
        for key, _ in waiting.select():
            now, ready = time.perf_counter(), key.data
            if ready.receive(now):
                if now < until:
                    ready.send(now)
                else:
                    busy -= 1
    return time.perf_counter() - started


def paced(clients: list[Client], seconds: float, hz: float) -> float:
    """Requests at a set pace, each over a connection that is free; counted from when it was due."""
    waiting = selectors.DefaultSelector()
    for client in clients:
        waiting.register(client.wire, selectors.EVENT_READ, client)
    free, number, total = list(clients), 0, int(seconds * hz)
    started = time.perf_counter()
    while number < total or len(free) < len(clients):
        due = started + number / hz
        now = time.perf_counter()
        if number < total and free and now >= due:
            free.pop(0).send(due)
            number += 1
            continue
        rest = due - now if number < total and free else 1.0
        for key, _ in waiting.select(max(0.0, rest)):
            if key.data.receive(time.perf_counter()):
                free.append(key.data)
    return time.perf_counter() - started


def main(port: int, seconds: float, count: int, frames: int, hz: float = 0.0) -> Figures:
    """Connect, load, count."""
    clients = [
        Client(
            socket.create_connection(("127.0.0.1", port)),
            request(f"load{number % SESSIONS}", frames, float(number)),
        )
        for number in range(count)
    ]
    for client in clients:
        client.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    cpu = time.process_time()
    whole = paced(clients, seconds, hz) if hz else flood(clients, seconds)
    cpu = (time.process_time() - cpu) / whole
    for client in clients:
        client.wire.close()
    taken = sorted(second * 1000.0 for client in clients for second in client.taken)
    return Figures(
        per_s=frames * len(taken) / whole,
        p50_ms=taken[len(taken) // 2],
        p99_ms=taken[len(taken) * 99 // 100],
        longest_ms=taken[-1],
        client_cpu=cpu,
        refused=sum(client.refused for client in clients),
    )


if __name__ == "__main__":
    _, port, seconds, clients, frames, *hz = sys.argv
    found = main(int(port), float(seconds), int(clients), int(frames), *map(float, hz))
    sys.stdout.write(json.dumps(found._asdict()))
