"""Events leave at once while the server reads, and wait without end for nobody."""

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.llm.engine.protocol import Piece, decode
from runtime.llm.engine.worker.outbox import Outbox, Stalled
from runtime.llm.engine.worker.service import Pieces


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.settimeout(10)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_full_socket_joins_pieces_and_loses_no_text(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    out = Outbox(ours)
    filler = b"x" * 1_000_000 + b"\n"
    out.offer(filler)
    assert not out.has_room()
    pieces = Pieces(1, out)
    words = [f"word{at} " for at in range(2000)]
    for word in words:
        assert pieces.emit(word, 1)
    rest = pieces.rest()
    assert rest == Piece(1, "".join(words), len(words))
    received = b""
    while not out.has_room():
        received += theirs.recv(1 << 16)
    assert pieces.emit("end", 1)
    assert pieces.rest() is None
    while not out.has_room() or received.count(b"\n") < 2:
        received += theirs.recv(1 << 16)
    assert received.startswith(filler)
    assert decode(received.splitlines()[-1]) == Piece(1, "".join(words) + "end", len(words) + 1)


def test_a_server_that_reads_nothing_ends_the_job(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    pieces = Pieces(1, Outbox(ends[0], stall_s=0))
    assert not all(pieces.emit("word " * 9, 1) for _ in range(20_000))


def test_a_line_that_cannot_be_sent_in_time_is_an_error(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    with pytest.raises(Stalled):
        Outbox(ends[0], stall_s=0).send(b"x" * 10_000_000)


def test_a_reply_that_outgrows_the_buffer_waits_for_the_reader(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    out = Outbox(ours)
    pieces = Pieces(1, out)
    received = bytearray()

    def drain() -> None:
        while part := theirs.recv(1 << 16):
            received.extend(part)

    reader = threading.Thread(target=drain)
    reader.start()
    for _ in range(200):
        assert pieces.emit("word " * 1000, 1)
    rest = pieces.rest()
    out.send(b"")
    ours.shutdown(socket.SHUT_WR)
    reader.join(10)
    events = [decode(bytes(line)) for line in received.splitlines()]
    texts = [event.text for event in events if isinstance(event, Piece)]
    assert len("".join(texts)) + len(rest.text if rest else "") == 1_000_000
