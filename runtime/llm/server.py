"""The command that runs the server."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from aiohttp import web

from runtime import VERSION
from runtime.llm.app import ENDING, assemble, make_app
from runtime.llm.inference import SYSTEM_MODEL
from runtime.llm.service import Service
from runtime.llm.settings import PROGRAM, LlmSettings
from runtime.web.door import Limits
from runtime.web.instance import AlreadyRunning, claim, write_address
from runtime.web.logs import logging_to
from runtime.web.serve import Running, run

PER_PEER: Final = 192
"""Maximum connections per address, which all programs of this machine share."""
log = logging.getLogger("runtime.llm")


def main(argv: Sequence[str]) -> int:
    """Run the server until a signal stops it; return the exit code."""
    if "--version" in argv:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    settings = LlmSettings.load([_flag(word) for word in argv], os.environ)
    if fault := _check_folder(settings.models_folder):
        return _fail(f"{'models_dir' if settings.models_dir else 'data_dir'}: {fault}", 2)
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
        for note in _warnings(service):
            log.warning("%s", note)
        if settings.bind_lan and not settings.api_key.get_secret_value().strip():
            log.warning("auth: open: every host on the local network may use this server")

        async def factory() -> web.Application:
            return make_app(service)

        return run(
            factory,
            settings.host,
            settings.server_port,
            limits=Limits(per_peer=PER_PEER),
            ending=ENDING,
            on_ready=lambda running: _ready(service, lock, running),
        )


def _check_folder(path: Path) -> str | None:
    """Why a path cannot be a folder; None if it is one or can be created."""
    try:
        nearest = next(part for part in (path, *path.absolute().parents) if part.exists())
        return None if nearest.is_dir() else f"{nearest} is not a folder"
    except OSError as problem:
        return problem.strerror


def _warnings(service: Service) -> Iterator[str]:
    """Yield warnings about settings that do not work yet or have no effect."""
    settings = service.settings
    if settings.models_dir is not None and not settings.models_dir.exists():
        yield f"models_dir: {settings.models_dir} does not exist yet; it may be created at any time"
    model = settings.selected_model_id
    if model != SYSTEM_MODEL and not settings.upstreams and service.catalog.find(model) is None:
        yield f"selected_model_id: the model {model} does not exist yet; requests get 404"
    if settings.cors_origins and not settings.allow_cors:
        yield "cors_origins: has no effect while allow_cors is off"


def _ready(service: Service, lock: IO[str], running: Running) -> None:
    """Announce the server on this machine and, with bind_lan, on the local network."""
    write_address(lock, f"http://127.0.0.1:{running.port}")
    if service.settings.bind_lan:
        key = service.settings.api_key.get_secret_value().strip()
        service.announcer.start(running.port, "key" if key else "open")


def _flag(word: str) -> str:
    """Accept ``--port`` for ``--server-port``."""
    name, equals, value = word.partition("=")
    return f"--server-port{equals}{value}" if name == "--port" else word


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {text}\n")
    return code
