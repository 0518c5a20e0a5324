"""The command ``reference``: makes a lap the reference of its circuit."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from runtime.bridge.analysis.drive import NoCorners, NoLaps, NoSuchLap, drive_of
from runtime.bridge.analysis.reference import (
    ReferenceLap,
    make_reference,
    parse_reference,
    write_reference,
)
from runtime.bridge.commands.flags import make_parser, read_line
from runtime.bridge.commands.sessions import CannotMake, connect, open_session
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.track.library import is_safe_id
from runtime.bridge.track.model import TrackError

SHOWN: Final = frozenset("config data_dir db db_backend port".split())
"""Settings of the server that the command uses."""


def main(argv: Sequence[str]) -> int:
    """0: the file was written; 1: it was not; 2: wrong arguments."""
    arguments, settings = read_line(_parser(), argv, SHOWN)
    try:
        lap = asyncio.run(_load_lap(arguments, settings))
        if not is_safe_id(lap.track):
            raise CannotMake("the circuit of the session has no track file")
        out: Path = arguments.out or settings.data_dir / "reference" / f"{lap.track}.json"
        write_reference(out, lap, force=arguments.force)
    except (CannotMake, TrackError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(error.strerror or str(error))
    sys.stdout.write(f"{lap.source_file}: {len(lap.corners)} corners, written to {out}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    about = (
        "Write a lap as the reference of its circuit. The session is read through a running\n"
        "bridge, otherwise from its database."
    )
    parser = make_parser("reference", about)
    parser.add_argument("session", metavar="SESSION", help="id of the session")
    parser.add_argument("--lap", type=int, help="number of a complete lap; default: the best")
    parser.add_argument("--url", help="address of a running bridge, such as http://localhost:8765")
    parser.add_argument("--out", type=Path, help="default: in the data folder, by the circuit's id")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    return parser


async def _load_lap(arguments: argparse.Namespace, settings: BridgeSettings) -> ReferenceLap:
    """Load the lap from a running bridge or from the database. Raises `CannotMake`."""
    session: str = arguments.session
    number: int | None = arguments.lap
    try:
        async with open_session(settings, session, arguments.url) as opened:
            if isinstance(opened, str):
                return _fetch_lap(opened, session, number)
            drive = drive_of(opened.laps, opened.where.track)
            return _check_corners(make_reference(drive, number, session))
    except NoLaps:
        raise CannotMake("the session has no complete lap") from None
    except NoSuchLap:
        raise CannotMake("the session has no complete lap with that number") from None
    except NoCorners:
        raise CannotMake("the corners of the circuit are unknown") from None


def _check_corners(lap: ReferenceLap) -> ReferenceLap:
    if not lap.corners:
        raise CannotMake("recording paused in every corner of that lap")
    return lap


def _fetch_lap(url: str, session: str, number: int | None) -> ReferenceLap:
    """Fetch the lap from a running bridge."""
    path = f"/session/{quote(session, safe='')}/reference"
    with connect(url) as bridge:
        return parse_reference(bridge.read(path, lap=number).decode())


def _fail(text: str) -> int:
    sys.stderr.write(f"reference: {text}\n")
    return 1
