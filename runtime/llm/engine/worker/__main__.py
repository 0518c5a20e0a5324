"""Starts a worker process: `python -m runtime.llm.engine.worker --socket N --flag N`."""

import argparse
import contextlib
import mmap
import resource
import signal
import socket

from runtime.llm.engine.worker import resources
from runtime.llm.engine.worker.service import Service


def main() -> None:
    """Serve commands on the inherited socket until it ends."""
    parser = argparse.ArgumentParser(description="Worker process of the language-model server.")
    parser.add_argument("--socket", type=int, required=True, help="descriptor of a stream socket")
    parser.add_argument("--flag", type=int, required=True, help="descriptor of the abort flag")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold what people wrote
    resources.take_blame()
    resources.give_way(resources.CHAT_NICE)
    connection = socket.socket(fileno=options.socket)
    connection.setblocking(True)
    Service(connection, mmap.mmap(options.flag, 2)).serve()


if __name__ == "__main__":
    main()
