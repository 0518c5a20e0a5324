"""Starts an encoder process: `python -m runtime.llm.embed.worker FD`."""

import argparse
import contextlib
import os
import resource
import signal
import socket
from typing import Final

from runtime.llm.embed.worker.service import Service
from runtime.llm.engine.worker import resources

_NICE: Final = 10
"""Behind the server, and behind the engines that people wait for."""


def main() -> None:
    """Serve commands on the inherited socket until it ends."""
    parser = argparse.ArgumentParser(description="Encoder process of the language-model server.")
    parser.add_argument("socket", type=int, help="descriptor of a stream socket")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold the texts
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    resources.take_blame()
    connection = socket.socket(fileno=options.socket)
    connection.setblocking(True)
    Service(connection).serve()


if __name__ == "__main__":
    main()
