"""The command that makes a circuit: `track build FILE`, or of a stored session."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime.bridge.commands.flags import make_parser, read_line
from runtime.bridge.session.names import slug
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.track.build import BuiltTrack, build_from_centreline, build_from_frames
from runtime.bridge.track.file import format_track, parse_track, write_file
from runtime.bridge.track.geojson import read_geojson
from runtime.bridge.track.model import TrackError
from runtime.web.errors import ApiError

_LINES = (".geojson", ".json")
_ALTITUDE = "altitude_m"
SHOWN: Final = frozenset("config data_dir db db_backend port can_dbc can_car_config".split())
"""Settings of the server that the command uses."""


def main(argv: Sequence[str]) -> int:
    """A circuit without `--out` goes among those of the data folder, under its own id. 0 when the
    file was written, 1 when not; wrong arguments exit with 2.
    """
    arguments, settings = read_line(_parser(), argv, SHOWN)
    source: str = arguments.source
    try:
        built = _built(source, arguments, settings)
    except (TrackError, ApiError, OSError, ValueError) as error:
        return _fail(Path(source).name, error)
    out: Path = arguments.out or settings.tracks_dir / f"{built.track.id}.json"
    try:
        if arguments.out is None:
            out.parent.mkdir(exist_ok=True)
        write_file(out, format_track(built.track), force=arguments.force)
    except (TrackError, OSError) as error:
        return _fail(str(out), error)
    for sentence in built.derived:
        sys.stdout.write(f"  {sentence}\n")
    sys.stdout.write(f"{built.track.name}: written to {out}\n")
    return 0


def _fail(what: str, error: Exception) -> int:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    sys.stderr.write(f"{what}: {reason}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    about = (
        "Make a circuit of the line that a recording drives, in a file of any kind that is\n"
        "imported or in a session, or of a centre line in GeoJSON. For a session a running\n"
        "bridge is asked, else its database is read."
    )
    parser = make_parser("track", about)
    parser.add_argument("command", choices=["build"])
    parser.add_argument("source", metavar="FILE|SESSION", help="a file, or the id of a session")
    parser.add_argument("--name", help="of the circuit; default: as file or session say")
    parser.add_argument("--out", type=Path, help="default: among the circuits, by its name")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.add_argument("--url", help="address of a running bridge, such as http://localhost:8765")
    return parser


def _built(source: str, arguments: argparse.Namespace, settings: BridgeSettings) -> BuiltTrack:
    # Imported here: reading recordings costs start-up time that a centre line need not pay.
    file, name = Path(source), arguments.name or ""
    suffix = file.suffix.casefold()
    if suffix in _LINES:
        return _titled(_of_line(file, name), file.name)
    from runtime.bridge.formats.detection import SUFFIXES

    if suffix in SUFFIXES:
        return _titled(_of_recording(file, name, settings), file.name)
    if file.is_file():
        kinds = " ".join(sorted({*SUFFIXES, ".geojson"}))
        raise TrackError(f"is of no kind that is read: {kinds}")
    return asyncio.run(_of_session(source, name, arguments.url, settings))


def _of_line(file: Path, name: str) -> BuiltTrack:
    read = read_geojson(file.read_text(encoding="utf-8-sig"))
    return build_from_centreline(read.trace, name or read.name or file.stem)


def _of_recording(file: Path, name: str, settings: BridgeSettings) -> BuiltTrack:
    from runtime.bridge.formats.detection import read_recording
    from runtime.bridge.formats.options import BusChoice, Options

    dbc, car = tuple(settings.can_dbc), settings.car_file
    bus = BusChoice(settings.data_dir, dbc, car, dbc_anywhere=True, car_anywhere=True)
    with file.open("rb") as stream:
        recording = read_recording(stream, file.name, Options(bus=bus))
    heights = recording.signals.get(_ALTITUDE)
    called = name or recording.facts.get("venue") or file.stem
    return build_from_frames(recording.frames, called, gate=recording.start, altitude=heights)


async def _of_session(
    session: str, name: str, url: str | None, settings: BridgeSettings
) -> BuiltTrack:
    from runtime.bridge.commands.sessions import CannotMake, open_session
    from runtime.bridge.storage.lapbook import build_track

    try:
        async with open_session(settings, session, url) as found:
            if isinstance(found, str):
                return _asked(found, session, name)
            return await build_track(found.store, found.row, found.laps, name or found.where.name)
    except CannotMake as error:
        raise TrackError(str(error)) from None


def _asked(url: str, session: str, name: str) -> BuiltTrack:
    """The circuit as a running bridge makes it."""
    from runtime.bridge.commands.sessions import asking

    with asking(url) as bridge:
        answer = bridge.session(session).get("/track", name=name or None)
    try:
        track, _ = parse_track(json.dumps(answer["track"]), answer["track_id"])
        return BuiltTrack(track, tuple(map(str, answer["derived"])))
    except (KeyError, TypeError, ValueError) as error:
        raise TrackError(f"the bridge gave no circuit that can be read: {error}") from None


def _titled(built: BuiltTrack, source: str) -> BuiltTrack:
    """The circuit with the name of the file that it came from."""
    if not slug(built.track.name):
        raise TrackError("the name needs a letter or a digit")
    return built._replace(track=replace(built.track, generated_from=f"track build {source}"))
