"""The command ``track build``: makes a circuit from a file or a stored session."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime.bridge.commands.flags import make_parser, read_line
from runtime.bridge.session.names import slugify
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
    """0: the file was written, by default into the data folder; 1: it was not; 2: wrong use."""
    arguments, settings = read_line(_parser(), argv, SHOWN)
    source: str = arguments.source
    try:
        built = _build(source, arguments, settings)
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
        "Make a circuit from the driven line of a recording, which is a file of any format that\n"
        "can be imported or a session, or from a centre line in GeoJSON. A session is read\n"
        "through a running bridge, otherwise from its database."
    )
    parser = make_parser("track", about)
    parser.add_argument("command", choices=["build"])
    parser.add_argument("source", metavar="FILE|SESSION", help="a file, or the id of a session")
    parser.add_argument("--name", help="of the circuit; default: from the file or session")
    parser.add_argument("--out", type=Path, help="default: in the data folder, by its name")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--url", help="address of a running bridge, such as http://localhost:8765")
    return parser


def _build(source: str, arguments: argparse.Namespace, settings: BridgeSettings) -> BuiltTrack:
    # Imported here, as the readers cost start-up time that a centre line does not need.
    file, name = Path(source), arguments.name or ""
    suffix = file.suffix.casefold()
    if suffix in _LINES:
        return _set_source(_build_from_line(file, name), file.name)
    from runtime.bridge.formats.detection import SUFFIXES

    if suffix in SUFFIXES:
        return _set_source(_build_from_recording(file, name, settings), file.name)
    if file.is_file():
        suffixes = " ".join(sorted({*SUFFIXES, ".geojson"}))
        raise TrackError(f"unknown file format; known: {suffixes}")
    return asyncio.run(_build_from_session(source, name, arguments.url, settings))


def _build_from_line(file: Path, name: str) -> BuiltTrack:
    line = read_geojson(file.read_text(encoding="utf-8-sig"))
    return build_from_centreline(line.trace, name or line.name or file.stem)


def _build_from_recording(file: Path, name: str, settings: BridgeSettings) -> BuiltTrack:
    from runtime.bridge.formats.detection import read_recording
    from runtime.bridge.formats.options import BusChoice, Options

    dbc, car = tuple(settings.can_dbc), settings.car_file
    bus = BusChoice(settings.data_dir, dbc, car, dbc_anywhere=True, car_anywhere=True)
    with file.open("rb") as stream:
        recording = read_recording(stream, file.name, Options(bus=bus))
    heights = recording.signals.get(_ALTITUDE)
    title = name or recording.facts.get("venue") or file.stem
    return build_from_frames(recording.frames, title, gate=recording.start, altitude=heights)


async def _build_from_session(
    session: str, name: str, url: str | None, settings: BridgeSettings
) -> BuiltTrack:
    from runtime.bridge.commands.sessions import CannotMake, open_session
    from runtime.bridge.storage.lapbook import build_track

    try:
        async with open_session(settings, session, url) as source:
            if isinstance(source, str):
                return _fetch_track(source, session, name)
            title = name or source.where.name
            return await build_track(source.store, source.row, source.laps, title)
    except CannotMake as error:
        raise TrackError(str(error)) from None


def _fetch_track(url: str, session: str, name: str) -> BuiltTrack:
    """Fetch the circuit from a running bridge."""
    from runtime.bridge.commands.sessions import connect

    with connect(url) as bridge:
        answer = bridge.session(session).get("/track", name=name or None)
    try:
        track, _ = parse_track(json.dumps(answer["track"]), answer["track_id"])
        return BuiltTrack(track, tuple(map(str, answer["derived"])))
    except (KeyError, TypeError, ValueError) as error:
        raise TrackError(f"the bridge's answer is not a readable circuit: {error}") from None


def _set_source(built: BuiltTrack, source: str) -> BuiltTrack:
    """Note the file that the circuit was built from."""
    if not slugify(built.track.name):
        raise TrackError("the name needs a letter or a digit")
    return built._replace(track=replace(built.track, generated_from=f"track build {source}"))
