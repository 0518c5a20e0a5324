"""Events leave at once while the server reads, and are held without end for nobody."""

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.llm.engine.process import Unpacker
from runtime.llm.engine.protocol import Ended, Piece, decode, encode
from runtime.llm.engine.worker.chat import _Pieces as Pieces
from runtime.llm.engine.worker.service import Outbox, Stalled

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.settimeout(10)
    yield ours, theirs
    ours.close()
    theirs.close()


def pieces_in(data: bytes) -> list[Piece]:
    events = [decode(head, body) for _, head, body in Unpacker().feed(data)]
    return [event for event in events if isinstance(event, Piece)]


def test_a_full_socket_joins_pieces_and_loses_no_text(ends: Ends) -> None:
    ours, theirs = ends
    out = Outbox(ours)
    filler = encode(1, Piece("x" * 1_000_000, 1))
    out.offer(filler)
    assert not out.has_room()
    pieces = Pieces(1, out)
    words = [f"word{at} " for at in range(2000)]
    for word in words:
        assert pieces.emit(word, 1)
    received = b""
    while not out.has_room():
        received += theirs.recv(1 << 16)
    assert pieces.emit("end", 1)
    while not out.has_room() or len(pieces_in(received)) < 2:
        received += theirs.recv(1 << 16)
    _, joined = pieces_in(received)
    assert joined == Piece("".join(words) + "end", len(words) + 1)


def test_a_server_that_reads_nothing_ends_the_reply(ends: Ends) -> None:
    pieces = Pieces(1, Outbox(ends[0], stall_s=0))
    assert not all(pieces.emit("word " * 9, 1) for _ in range(20_000))


def test_a_message_that_cannot_be_sent_in_time_is_an_error(ends: Ends) -> None:
    with pytest.raises(Stalled):
        Outbox(ends[0], stall_s=0).send(b"x" * 10_000_000)


def test_a_reply_that_outgrows_the_buffer_waits_for_the_reader(ends: Ends) -> None:
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
    pieces.flush()
    out.send(encode(1, Ended("stop")))
    ours.shutdown(socket.SHUT_WR)
    reader.join(10)
    assert sum(len(piece.text) for piece in pieces_in(bytes(received))) == 1_000_000
