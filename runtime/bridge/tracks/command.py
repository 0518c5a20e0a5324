"""The command that makes a circuit: `track build FILE`."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from runtime.bridge.tracks.build import Built, from_centreline, from_frames
from runtime.bridge.tracks.fields import LARGEST_TEXT
from runtime.bridge.tracks.geojson import read_geojson
from runtime.bridge.tracks.model import TrackError, slug
from runtime.bridge.tracks.write import track_text

FOLDER: Final = Path("data/tracks")


def main(argv: Sequence[str], folder: Path = FOLDER) -> int:
    """Run the command; a circuit without `--out` goes into *folder*, under its own id.

    0 when the file was written, 1 when not; wrong arguments exit with 2.
    """
    arguments = _parser().parse_args(argv)
    source: Path = arguments.file
    try:
        built = _built(source, arguments.name)
        out: Path = arguments.out or folder / f"{built.track.id}.json"
        _write(out, track_text(built.track), force=arguments.force)
    except (TrackError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        sys.stderr.write(f"{source.name}: {reason}\n")
        return 1
    for sentence in built.derived:
        sys.stdout.write(f"  {sentence}\n")
    sys.stdout.write(f"{built.track.name}: written to {out}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="track", description="Circuits of the bridge.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="make a circuit from a recording or a centre line")
    build.add_argument("file", type=Path, metavar="FILE", help="a .vbo or .geojson file")
    build.add_argument("--name", help="what the circuit is called; default: the file's own name")
    build.add_argument("--out", type=Path, help="default: among the circuits, by its name")
    build.add_argument("--force", action="store_true", help="write over a file that is there")
    return parser


def _built(source: Path, name: str | None) -> Built:
    suffix = source.suffix.casefold()
    if suffix in (".geojson", ".json"):
        if source.stat().st_size > LARGEST_TEXT:
            raise TrackError("the file is larger than 16 MiB")
        read = read_geojson(source.read_text(encoding="utf-8-sig"))
        return _titled(from_centreline(read.trace, name or read.name or source.stem), source)
    if suffix == ".vbo":
        # Imported here: reading recordings costs start-up time that a centre line need not pay.
        from runtime.bridge.vbo.read import read as read_vbo

        with source.open("rb") as stream:
            recording = read_vbo(stream)
        heights = recording.signals.get("altitude_m")
        built = from_frames(
            recording.frames, name or source.stem, gate=recording.start, altitude=heights
        )
        return _titled(built, source)
    raise TrackError("only .vbo and .geojson files can be read")


def _titled(built: Built, source: Path) -> Built:
    """The circuit with the name of the file that it came from."""
    if not slug(built.track.name):
        raise TrackError("the name needs a letter or a digit")
    return built._replace(track=replace(built.track, generated_from=f"track build {source.name}"))


def _write(out: Path, text: str, *, force: bool) -> None:
    """Write a new file, or, where *force* allows it, in one step over an old one."""
    if not force:
        try:
            with out.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise TrackError(f"{out} is there already; --force writes over it") from None
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}.next")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
