"""The command that runs the bridge, from its flags to its exit code."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from runtime.bridge import VERSION
from runtime.bridge.app import ENDING, assemble, make_app
from runtime.bridge.service import Service
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.opening import check
from runtime.web.guard import Limits
from runtime.web.hosts import is_loopback
from runtime.web.logs import logging_to
from runtime.web.serve import BindCodes, CannotStart, Running, run

PER_PEER: Final = 192
"""Connections of one address: every program of this machine has the same one."""
BAD_CONFIGURATION: Final = 2
PORT_TAKEN: Final = 3
COMMANDS: Final = """
commands:
  python -m runtime.bridge import FILE...     make sessions of recorded files
  python -m runtime.bridge track build FILE   make a track file from a lap or a centreline
  python -m runtime.bridge reference SESSION  make a lap the reference of its circuit
Each explains itself with --help.
"""
log = logging.getLogger("runtime.bridge")


def main(argv: Sequence[str]) -> int:
    """Run the bridge until it is told to stop; the exit code of the process."""
    if "--version" in argv:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    try:
        settings = BridgeSettings.load(argv, os.environ)
    except SystemExit as leaving:
        if not leaving.code:  # the flags have been printed
            sys.stdout.write(COMMANDS)
        raise
    if not settings.allow_remote and not is_loopback(settings.host):
        return _fail("host: other machines are let in only with --allow-remote")
    with logging_to(level=settings.log_level):
        for note in settings.notes:
            log.warning("%s", note)
        try:
            service = assemble(settings)
        except CannotStart as problem:
            return _fail(str(problem))
        if settings.check:
            try:
                check(settings.database, settings.db_backend)
            except StoreUnusable as problem:
                return _fail(f"db: {problem}")
            sys.stdout.write("the configuration is good\n")
            return 0

        async def factory() -> web.Application:
            return make_app(service)

        return run(
            factory,
            settings.host,
            settings.port,
            limits=Limits(per_peer=PER_PEER),
            ending=ENDING,
            on_ready=lambda running: _ready(service, running),
            port_setting="port",
            bind_codes=BindCodes(taken=PORT_TAKEN, impossible=BAD_CONFIGURATION),
        )


def _ready(service: Service, running: Running) -> None:
    """Tell other programs here where this bridge answers."""
    if service.store is not None:
        local = running.host in ("0.0.0.0", "::")  # noqa: S104 - nothing is bound to it here
        service.store.answers_at(f"http://127.0.0.1:{running.port}" if local else running.url)


def _fail(text: str) -> int:
    sys.stderr.write(f"python -m runtime.bridge: {text}\n")
    return BAD_CONFIGURATION
