"""The command ``import``: recorded files become sessions, with or without a running bridge."""

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

import aiohttp
from tqdm import tqdm

from runtime.bridge.can.registry import RegistryError, load_registry
from runtime.bridge.commands.flags import add_server_flags
from runtime.bridge.formats.canlog import car_asked, car_driven
from runtime.bridge.formats.files import open_inside
from runtime.bridge.formats.formats import MAX_BYTES, SUFFIXES, read_recording
from runtime.bridge.formats.naming import driver, place, session_name
from runtime.bridge.formats.reading import BusChoice
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.recording import Recording
from runtime.bridge.session.series import series
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import SessionExists, StoreUnusable
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Json, SessionMeta
from runtime.bridge.track.library import Library
from runtime.web.errors import ApiError
from runtime.web.instance import AlreadyRunning, address_of

LONGEST_S: Final = 900.0
"""A running bridge that takes longer over one file is given up."""
WRONG_USE: Final = 2
INTERRUPTED: Final = 130
SHOWN: Final = frozenset(
    "config data_dir db db_backend port can_dbc can_car_config can_no_car_config".split()
)
"""Settings of the server that an import uses."""
EXAMPLES: Final = """examples:
  python -m runtime.bridge import session.vbo --driver Ada
  python -m runtime.bridge import *.log --dbc my-car.dbc --car tarnhow-pip-180

Files: VBO, RaceChrono CSV, candump (.log), Vector .asc and .blf, PEAK .trc; .mf4 and .xrk/.xrz with
their extras. While a bridge runs on the database the files are
brought in through it, otherwise directly."""


class ImportFailed(Exception):
    """One file could not be imported; the text is for the user."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Importer(Protocol):
    """Brings one file in."""

    async def bring(self, file: Path) -> Json:
        """What an import answers. Raises `ImportFailed`."""


def main(argv: Sequence[str]) -> int:
    """0: all files are in; 1: not all; 2: wrong use; the other files go on where one fails."""
    parser = _parser()
    chosen, rest = parser.parse_known_args(argv)
    if chosen.session_id and len(chosen.files) > 1:
        parser.error("--session-id names one session: give one file")
    settings = BridgeSettings.load([*chosen.server, *rest], os.environ)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    try:
        return asyncio.run(_import(chosen, settings))
    except (StoreUnusable, ImportFailed, ApiError) as problem:
        sys.stderr.write(f"import: {problem}\n")
        return WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runtime.bridge import",
        description="Bring recorded files in as sessions, each whole or not at all.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--driver", default="", help="who drove")
    parser.add_argument("--driver-level", default="", help="beginner, intermediate or pro")
    parser.add_argument("--track", default="", help="default: the circuit nearest to the positions")
    parser.add_argument("--car", default="", help="name of the car; of a CAN log its car file")
    parser.add_argument("--note", default="", help="a remark that is kept with the session")
    parser.add_argument("--dbc", action="append", default=[], help="DBC file; may be repeated")
    parser.add_argument("--channel", default="", help="channel of a CAN log; default: all")
    parser.add_argument("--session-id", default="", help="default: circuit and time of recording")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each file")
    add_server_flags(parser, SHOWN)
    return parser


async def _import(chosen: argparse.Namespace, settings: BridgeSettings) -> int:
    failed = 0
    async with _importer(chosen, settings) as importer:
        for file in chosen.files:
            try:
                done = await importer.bring(file)
            except ImportFailed as problem:
                failed += 1
                _tell_failure(file, problem, as_json=chosen.json)
            else:
                _tell(file, done, as_json=chosen.json)
    return 1 if failed else 0


@asynccontextmanager
async def _importer(
    chosen: argparse.Namespace, settings: BridgeSettings
) -> AsyncIterator[Importer]:
    """The database itself, or the bridge that has it open."""
    try:
        seed = [signal.row for signal in load_registry(settings.registry_file)]
    except RegistryError as error:
        raise ImportFailed(f"data_dir: registry/{error}", "") from None
    try:
        store = await Store.open(settings.database, settings.db_backend, seed)
    except AlreadyRunning:
        address = address_of(_lock_of(settings.database))
        if address is None and settings.port:
            address = f"http://127.0.0.1:{settings.port}"
        if address is None:
            raise ImportFailed("a bridge is about to start on this data; try again", "") from None
        timeout = aiohttp.ClientTimeout(total=LONGEST_S)
        async with aiohttp.ClientSession(address, timeout=timeout) as http:
            yield _Remote(http, chosen, settings)
        return
    try:
        yield _Direct(store, chosen, settings)
    finally:
        await store.close()


def _lock_of(db: Path) -> Path:
    """The folder that a process holds while it has the database open."""
    return db.with_name(f"{db.name}.lock")


class _Remote:
    """Through a running bridge."""

    def __init__(
        self, http: aiohttp.ClientSession, chosen: argparse.Namespace, settings: BridgeSettings
    ) -> None:
        self._http = http
        self._chosen = chosen
        self._settings = settings

    async def bring(self, file: Path) -> Json:
        """See `Importer`."""
        body: Json = {"path": _absolute_path(file)}
        for name in ("driver", "driver_level", "track", "car", "note", "channel", "session_id"):
            if value := getattr(self._chosen, name):
                body[name] = value
        if self._chosen.dbc:
            body["dbc"] = [_absolute(name) for name in self._chosen.dbc]
        try:
            async with self._http.post("/session/import", json=body) as answer:
                told = await answer.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            text = "the bridge that has the database open does not answer"
            raise ImportFailed(text, "no_bridge") from None
        if not isinstance(told, dict):
            raise ImportFailed("the bridge gave no answer that can be read", "no_bridge")
        if "session_id" not in told or "error" in told:
            raise _failed(str(told.get("error", "refused")), str(told.get("code", "")))
        return told


class _Direct:
    """Into the database, which this process has open."""

    def __init__(self, store: Store, chosen: argparse.Namespace, settings: BridgeSettings) -> None:
        self._store = store
        self._chosen = chosen
        self._library = Library.read(settings.tracks_dir)
        self._settings = settings
        self._active = self._library.by_id(settings.track.strip())
        car = car_asked(settings.cars_dir, chosen.car)
        usual = None if settings.can_no_car_config else settings.can_car_config
        self._bus = BusChoice(
            settings.data_dir,
            tuple(chosen.dbc or settings.can_dbc),
            car if car is not None else usual,
            chosen.channel or None,
            dbc_anywhere=True,
            car_anywhere=True,
        )

    async def bring(self, file: Path) -> Json:
        """See `Importer`."""
        chosen = self._chosen
        try:
            recording = await asyncio.to_thread(self._read, file)
            track = chosen.track or place(self._library.near, self._active, recording)
            session_id = chosen.session_id or session_name(track, recording.created, time.time())
            meta = SessionMeta(
                driver=driver(chosen.driver or None, recording),
                driver_level=chosen.driver_level or "intermediate",
                track=track,
                car=car_driven(chosen.car or None, recording.facts),
                note=chosen.note or None,
                source=file.name,
            )
            done = await self._store.import_recording(session_id, recording, meta)
        except ApiError as problem:
            raise _failed(str(problem), type(problem).code) from None
        row = self._store.session(session_id)
        laps = await asyncio.to_thread(self._laps, recording, track)
        return {
            "session_id": session_id,
            "track": track,
            "n_frames": done.n_frames,
            "n_signals": done.n_signals,
            "duration_s": round(_span(recording), 2),
            "distance_m": round(row.distance_m or 0.0, 1) if row else 0.0,
            "n_laps": len(laps),
            "best_lap_s": round(min(laps), 3) if laps else None,
            "format": recording.facts.get("format", ""),
            "facts": dict(recording.facts),
            "warnings": [
                {"code": doubt.code, "detail": doubt.detail, "count": doubt.times}
                for doubt in (*recording.doubts, *done.doubts)
            ],
        }

    def _read(self, file: Path) -> Recording:
        if file.suffix.lower() not in SUFFIXES:
            kinds = " ".join(sorted(SUFFIXES))
            raise ImportFailed(f"is of no kind that is imported: {kinds}", "not_importable")
        if not file.exists():
            raise ImportFailed("there is no such file", "not_importable")
        absolute = str(file.absolute())
        with (
            open_inside(absolute, None, suffixes=SUFFIXES, max_bytes=MAX_BYTES) as stream,
            tqdm.wrapattr(
                stream,
                "read",
                desc=file.name,
                total=file.stat().st_size,
                leave=False,
                disable=None,  # nothing where there is no terminal
            ) as shown,
        ):
            return read_recording(shown, file.name, bus=self._bus)

    def _laps(self, recording: Recording, track: str) -> list[float]:
        """Seconds of each complete lap."""
        whole = series(recording.frames)
        known = self._library.by_name(track) if track else None
        if known is not None:
            found = detect_laps(whole, gate=known.start, track_length_m=known.length_m)
        else:
            found = detect_laps(whole, gate=recording.start)
        return [lap.duration_s for lap in found.complete]


def _failed(text: str, code: str) -> ImportFailed:
    """What the bridge says, with the flag that helps."""
    helps = "; --session-id gives another id" if code == SessionExists.code else ""
    return ImportFailed(f"{text}{helps}", code)


def _absolute_path(file: Path) -> str:
    return str(file.absolute())


def _absolute(name: str) -> str:
    """A path as the bridge understands it, which runs in another folder; an id as it is."""
    path = Path(name)
    return str(path.absolute()) if name.endswith(".dbc") and path.is_file() else name


def _span(recording: Recording) -> float:
    t = series(recording.frames).t
    return float(t[-1] - t[0]) if len(t) else 0.0


def _tell(file: Path, done: Json, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"file": str(file), **done}) + "\n")
        sys.stdout.flush()
        return
    laps = f", {done['n_laps']} laps" if done.get("n_laps") else ""
    best = f", best {done['best_lap_s']} s" if done.get("best_lap_s") else ""
    sys.stdout.write(
        f"{file.name}: session {done['session_id']}, {done['n_frames']} frames, "
        f"{done['n_signals']} signals, {done['duration_s']} s of driving{laps}{best}\n"
    )
    warnings = done.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        sys.stdout.write(f"  {warning['code']}: {warning['detail']} ({warning['count']})\n")
    sys.stdout.flush()


def _tell_failure(file: Path, problem: ImportFailed, *, as_json: bool) -> None:
    if as_json:
        told = {"file": str(file), "error": str(problem), "code": problem.code}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    else:
        sys.stderr.write(f"{file.name}: {problem}\n")
