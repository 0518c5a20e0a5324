"""Pieces of a reply wait for a slow reader, and the process ends for one that is gone."""

import os
import socket
import threading

import pytest

from runtime.llm.engine.protocol import Ended, TextPiece
from runtime.llm.engine.worker import threads
from runtime.llm.engine.worker.threads import Outbox, Pieces


def test_a_reply_waits_for_its_reader_and_arrives_whole() -> None:
    ours, theirs = socket.socketpair()
    received = bytearray()

    def drain() -> None:
        while part := theirs.recv(1 << 16):
            received.extend(part)

    reader = threading.Thread(target=drain)
    with ours, theirs:
        reader.start()
        out = Outbox(ours)
        pieces = Pieces(1, out)
        for _ in range(200):
            pieces.emit("word " * 1000, 1)
            out.flush()
        pieces.end(Ended("stop"))
        out.flush()
        ours.shutdown(socket.SHUT_WR)
        reader.join(10)
    assert received.count(b"word ") == 200_000


def test_a_beginning_and_an_end_take_along_what_other_replies_have_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "PAUSE_S", 1e6)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs:
        out = Outbox(ours)
        one, other = Pieces(1, out), Pieces(2, out)
        one.emit("first", 1)
        out.flush()
        assert b"first" in theirs.recv(1 << 16)
        one.emit("held", 1)
        other.emit("", 0)  # a sign of life is in no hurry
        out.flush()
        with pytest.raises(BlockingIOError):
            theirs.recv(1 << 16)
        other.emit("begun", 1)
        out.flush()
        assert theirs.recv(1 << 16).count(b"TextPiece") == 3
        one.end(Ended("stop"))
        out.flush()
        assert b"Ended" in theirs.recv(1 << 16)


def test_a_server_that_reads_nothing_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(status: int) -> None:
        raise SystemExit(status)

    monkeypatch.setattr(os, "_exit", leave)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(SystemExit):
        Outbox(ours, stall_s=1).send(1, TextPiece("x" * 10_000_000, 1))
