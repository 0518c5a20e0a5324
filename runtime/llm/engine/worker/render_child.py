"""The process that runs a chat template for `renderer`, over its standard streams."""

import contextlib
import resource
import signal
import struct
import sys
from typing import BinaryIO

import orjson

from runtime.llm.engine.worker.prompts import TemplateBroken, TemplateFailed
from runtime.llm.engine.worker.renderer import MEMORY_LIMIT
from runtime.llm.engine.worker.template import Template


def _limit() -> None:
    """No memory beyond the cap, no file written, no core; each is best effort."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_AS: MEMORY_LIMIT,
    }
    for kind, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))


def _receive(stream: BinaryIO) -> list[list[str]]:
    head = stream.read(4)
    if len(head) < 4:
        sys.exit(0)
    frame: list[list[str]] = orjson.loads(stream.read(struct.unpack("<I", head)[0]))
    return frame


def _answer(stream: BinaryIO, value: object) -> None:
    body = orjson.dumps(value)
    stream.write(struct.pack("<I", len(body)) + body)
    stream.flush()


def main() -> None:
    """Answer the first frame with what is wrong with the template, each later one with a prompt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit()
    source, bos, eos, limit = map(str, _receive(sys.stdin.buffer))
    signal.setitimer(signal.ITIMER_REAL, float(limit))  # its signal ends the process
    try:
        template = Template(source, bos, eos)
    except TemplateBroken as error:
        _answer(sys.stdout.buffer, str(error))
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    _answer(sys.stdout.buffer, "")
    while True:
        messages = _receive(sys.stdin.buffer)
        signal.setitimer(signal.ITIMER_REAL, float(limit))
        try:
            _answer(sys.stdout.buffer, list(template.render(messages)))
        except TemplateFailed as error:
            _answer(sys.stdout.buffer, str(error))
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
