"""The command that runs the bridge, from its flags to its exit code."""

import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from runtime import VERSION
from runtime.bridge.app import ENDING, make_app
from runtime.bridge.errors import BIND_CODES
from runtime.bridge.service import Service
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.startup import BAD_CONFIGURATION, assemble, probe_startup
from runtime.web.access import is_loopback
from runtime.web.door import Limits
from runtime.web.logs import logging_to
from runtime.web.serve import CannotStart, Running, reuse_memory, run

PER_PEER: Final = 192
"""Connections from one address, which all programs of this machine share."""
log = logging.getLogger("runtime.bridge")


def main(argv: Sequence[str]) -> int:
    """Run the bridge until it is stopped; return the exit code."""
    if "--version" in argv:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    settings = BridgeSettings.load(argv, os.environ)
    if not settings.allow_remote and not is_loopback(settings.host):
        return _fail("host: other machines can connect only with --allow-remote")
    level = settings.log_level
    if settings.check and level == "error":
        level = "warning"  # a check reports warnings
    warnings = _WarningCounter(logging.WARNING)
    with logging_to(level=level):
        log.addHandler(warnings)
        for note in settings.notes:
            log.warning("%s", note)
        try:
            service = assemble(settings)
            if settings.check:
                return _report_check(settings, warnings)
        except CannotStart as problem:
            return _fail(str(problem), problem.exit_code)
        finally:
            log.removeHandler(warnings)

        async def factory() -> web.Application:
            return make_app(service)

        reuse_memory()
        return run(
            factory,
            settings.host,
            settings.port,
            limits=Limits(per_peer=PER_PEER),
            ending=ENDING,
            on_ready=lambda running: _announce(service, running),
            port_setting="port",
            bind_codes=BIND_CODES,
        )


def _announce(service: Service, running: Running) -> None:
    """Announce the address to programs on this machine and on the network."""
    if service.announcer is not None and not is_loopback(running.host):
        service.announcer.start(running.port, "open")
    if service.store is not None:
        local = running.host in ("0.0.0.0", "::")  # noqa: S104 - only compared, not bound
        service.store.answers_at(f"http://127.0.0.1:{running.port}" if local else running.url)


def _report_check(settings: BridgeSettings, warnings: "_WarningCounter") -> int:
    """Probe the start and report the result. Raises `CannotStart`."""
    for warning in probe_startup(settings):
        log.warning("%s", warning)
    verdict = "the configuration is good"
    if warnings.count:
        verdict = f"the configuration can be used; warnings: {warnings.count}"
    sys.stdout.write(f"{verdict}\n")
    return 0


class _WarningCounter(logging.Handler):
    """Counts warnings."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        self.count += 1


def _fail(text: str, code: int = BAD_CONFIGURATION) -> int:
    sys.stderr.write(f"{PROGRAM}: {text}\n")
    return code
