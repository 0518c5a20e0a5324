"""Starts the language-model server: ``python -m runtime.llm``; ``--help`` lists the flags."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from runtime.llm.app import ENDING, assemble, make_app
from runtime.llm.service import Service
from runtime.llm.settings import LlmSettings
from runtime.web.guard import Limits
from runtime.web.instance import AlreadyRunning, claim
from runtime.web.logs import logging_to
from runtime.web.serve import run

PER_PEER: Final = 192
"""Connections of one address: every program of this machine has the same one."""
log = logging.getLogger("runtime.llm")


def main(argv: Sequence[str]) -> int:
    """Run the server until it is told to stop; the exit code of the process."""
    settings = LlmSettings.load([_flag(word) for word in argv], os.environ)
    try:
        lock = claim(settings.data_dir, "data_dir")
    except AlreadyRunning as problem:
        return _fail(str(problem), 2)
    except OSError as problem:
        return _fail(f"data_dir cannot be used: {problem.strerror}", 2)
    with lock, logging_to(level=settings.log_level):
        for note in settings.notes:
            log.warning("%s", note)
        try:
            service = assemble(settings)
        except ValueError as problem:
            return _fail(str(problem), 2)
        if settings.bind_lan and not settings.api_key.get_secret_value().strip():
            log.warning("auth: open: every host of the local network may use this server")

        async def factory() -> web.Application:
            return make_app(service)

        return run(
            factory,
            settings.host,
            settings.server_port,
            limits=Limits(per_peer=PER_PEER),
            ending=ENDING,
            on_ready=lambda running: _announce(service, running.port),
        )


def _announce(service: Service, port: int) -> None:
    """Tell the local network, beside the start: the listener does not wait for it."""
    key = service.settings.api_key.get_secret_value().strip()
    service.announce(port, "key" if key else "open")


def _flag(word: str) -> str:
    """The short name of the flag that is used most."""
    name, equals, value = word.partition("=")
    return f"--server-port{equals}{value}" if name == "--port" else word


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"python -m runtime.llm: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
