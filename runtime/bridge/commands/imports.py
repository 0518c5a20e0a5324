"""The command ``import``: stores recorded files as sessions, with or without a running bridge."""

import argparse
import asyncio
import io
import json
import secrets
import sys
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlencode

from multidict import MultiDict
from tqdm import tqdm

from runtime import VERSION
from runtime.bridge.can.registry import RegistryError, load_registry
from runtime.bridge.commands.flags import WRONG_USE, make_parser, read_line, run_work, write_line
from runtime.bridge.commands.sessions import CannotMake, connect, open_store, read_circuits
from runtime.bridge.errors import code_of
from runtime.bridge.formats.detection import MAX_BYTES, SUFFIXES, read_recording
from runtime.bridge.formats.options import BusChoice, Options
from runtime.bridge.formats.readers.parquet import ARCHIVE_FILES
from runtime.bridge.formats.safe_open import open_inside
from runtime.bridge.formats.saved_mappings import (
    locate_maps,
    read_maps,
    read_plain_mappings,
    save_map,
)
from runtime.bridge.formats.session_naming import find_car_file_name
from runtime.bridge.session.recording import Mapped, Recording
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.storage.errors import SessionExists, StoreUnusable
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import Json
from runtime.bridge.storage.store import Store
from runtime.bridge.track.model import TrackError
from runtime.web.errors import ApiError
from runtime.web.routes import parse_query

LONGEST_S: Final = 900.0
"""Longest time that a running bridge may take over a file."""
SHOWN: Final = frozenset(
    "config data_dir db db_backend port can_dbc can_car_config can_no_car_config".split()
)
"""Settings of the server that an import uses."""
ABOUT: Final = ("driver", "driver_level", "track", "car", "note")
"""Flags with the details of a session."""
EXAMPLES: Final = f"""examples:
  {PROGRAM} import session.vbo --driver Ada
  {PROGRAM} import track-day/ --driver Ada
  {PROGRAM} import *.log --dbc my-car.dbc --car tarnhow-pip-180
  {PROGRAM} import day.vbo --dry-run
  {PROGRAM} import day.vbo --map rpm=ECU_RPM --map brake_bar=none

All readable files of a folder are imported, older ones first, each as a session; from a lake, which
`export` writes, the sessions are restored.
Files: those of docs/formats.md, from VBO and any CSV to CAN logs; .mf4 and .xrk/.xrz with their
extras. While a bridge has the database open, the files are imported through it, otherwise
directly."""


Import: TypeAlias = Callable[[Path], Awaitable[Json]]
"""Imports a file and returns the answer of the import route. Raises `CannotMake`."""


def main(argv: Sequence[str]) -> int:
    """0: all files are imported; 1: not all; 2: wrong use. A failure does not stop the others."""
    parser = _parser()
    chosen, settings = read_line(parser, argv, SHOWN)
    if not chosen.files and not chosen.list_maps:
        parser.error("the following arguments are required: FILE")
    paths = chosen.files
    if chosen.forget_map and chosen.maps:
        parser.error("give either --map or --forget-map")
    try:
        mapping = _parse_mapping(chosen)
    except ValueError as problem:
        parser.error(str(problem))
    chosen.files = list(_list_files(paths))
    if paths and not chosen.files:
        return WRONG_USE
    if chosen.session_id and len(chosen.files) > 1:
        parser.error("--session-id needs exactly one file")

    def work() -> int:
        if chosen.list_maps:
            return _list_maps(settings)
        if chosen.dry_run:
            return _preview(chosen, _Files(chosen, settings, mapping))
        return asyncio.run(_import(chosen, settings, mapping))

    return run_work("import", work, StoreUnusable, CannotMake, TrackError, ApiError)


def _parser() -> argparse.ArgumentParser:
    about = "Import recorded files as sessions, each whole or not at all."
    parser = make_parser("import", about, EXAMPLES)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE|FOLDER")
    parser.add_argument("--driver", default="", help="name of the driver")
    parser.add_argument("--driver-level", default="", help="beginner, intermediate or pro")
    parser.add_argument("--track", default="", help="default: recognised from the positions")
    parser.add_argument("--car", default="", help="name of the car; for a CAN log its car file")
    parser.add_argument("--note", default="", help="a remark to store with the session")
    parser.add_argument("--dbc", action="append", default=[], help="DBC file; may be repeated")
    parser.add_argument("--channel", default="", help="channel of a CAN log; default: all")
    parser.add_argument("--session-id", default="", help="default: circuit and time of recording")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        dest="maps",
        metavar="SIGNAL=CHANNEL[:UNIT]",
        help="channel of a signal; SIGNAL=none: no channel; may be repeated; kept for files of the "
        "same logger",
    )
    parser.add_argument(
        "--forget-map", action="store_true", help="forget the kept mapping of the files' logger"
    )
    parser.add_argument(
        "--list-maps", action="store_true", help="show the kept mapping of each logger, and exit"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the channel of each signal; store nothing"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each file")
    return parser


def _list_files(paths: Sequence[Path]) -> Iterator[Path]:
    """List the files, and the readable ones of folders by modification time.

    A folder with the files of a session, as in a lake, is listed in place of its files.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        sessions = {
            file.parent for file in path.rglob(ARCHIVE_FILES[-1]) if _is_session(file.parent)
        }
        inside = [
            (file.stat().st_mtime, file)
            for file in (path, *path.rglob("*"))
            if file in sessions or (file.parent not in sessions and _is_recording(file))
        ]
        if not inside:
            sys.stderr.write(f"{path}: contains no file that can be imported\n")
        yield from (file for _, file in sorted(inside))


def _is_recording(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and file.is_file() and file.name[0] != "."


def _is_session(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ARCHIVE_FILES)


def _pack(folder: Path) -> bytes:
    """Pack the files of a session into an archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in ARCHIVE_FILES:
            archive.write(folder / name, name)
    return data.getvalue()


def _parse_mapping(chosen: argparse.Namespace) -> dict[str, str] | None:
    """Parse the flags ``--map``; None: use the kept mapping. Raises ValueError."""
    mapping: dict[str, str] = {}
    for text in chosen.maps:
        signal, equals, channel = text.partition("=")
        if not (equals and signal.strip() and channel.strip()):
            raise ValueError(f"--map {text}: write SIGNAL=CHANNEL, for example rpm=ECU_RPM")
        mapping[signal.strip()] = channel.strip()
    return mapping if mapping or chosen.forget_map else None


def _list_maps(settings: BridgeSettings) -> int:
    for logger, kept in read_maps(locate_maps(settings.database)).items():
        texts = ", ".join(f"{signal}={channel}" for signal, channel in kept.mapping.items())
        write_line(f"{logger}: {texts} ({kept.file}, {kept.given_at})")
    return 0


def _preview(chosen: argparse.Namespace, files: "_Files") -> int:
    """Show what an import would take from each file."""
    failed = 0
    for file in chosen.files:
        try:
            recording = files.read(file)
        except (CannotMake, ApiError) as problem:
            failed += 1
            _report_failure(file, str(problem), problem.code, as_json=chosen.json)
            continue
        mapping = {signal: mapped._asdict() for signal, mapped in recording.mapping.items()}
        if chosen.json:
            facts = {"logger": recording.logger, "mapping": mapping, "channels": recording.channels}
            write_line(json.dumps({"file": str(file), **facts}))
            continue
        write_line(f"{file.name}: logger {recording.logger}, {len(recording.frames)} frames")
        for signal, mapped in recording.mapping.items():
            write_line(f"  {signal}: {_describe(mapped)}")
        if recording.unmapped:
            write_line(f"  kept under their own names: {', '.join(recording.unmapped)}")
    return 1 if failed else 0


def _describe(mapped: Mapped) -> str:
    parts = [f"in {mapped.unit}{', not stated' * mapped.assumed}"] if mapped.unit else []
    parts += [mapped.why] if mapped.why not in ("name", "none") else []
    parts += [f"rather than {', '.join(mapped.others)}"] if mapped.others else []
    parts += [f"never changing: {', '.join(mapped.constant)}"] if mapped.constant else []
    return f"{mapped.channel or 'none'}" + (f" ({'; '.join(parts)})" if parts else "")


async def _import(
    chosen: argparse.Namespace, settings: BridgeSettings, mapping: dict[str, str] | None
) -> int:
    failed: list[tuple[Path, str, str]] = []
    stored = False
    async with _open_import(chosen, settings, mapping) as (import_file, place):
        for file in chosen.files:
            try:
                answer = await import_file(file)
            except CannotMake as problem:
                if chosen.forget_map and problem.code == SessionExists.code:
                    await asyncio.to_thread(_Files(chosen, settings, mapping).forget, file)
                    write_line(f"{file.name}: the mapping of its logger was forgotten")
                    continue
                hint = "; --session-id gives another id" * (problem.code == SessionExists.code)
                failed.append((file, f"{problem}{hint}", problem.code))
                if chosen.json:
                    _report_failure(*failed[-1], as_json=True)
            else:
                stored = True
                _report(file, answer, as_json=chosen.json)
    if stored and not chosen.json:
        write_line(place)
    if failed and not chosen.json:
        if len(chosen.files) > 1:
            sys.stderr.write(f"{len(failed)} of {len(chosen.files)} files were not imported:\n")
        for failure in failed:
            _report_failure(*failure, as_json=False)
    return 1 if failed else 0


@asynccontextmanager
async def _open_import(
    chosen: argparse.Namespace, settings: BridgeSettings, mapping: dict[str, str] | None
) -> AsyncIterator[tuple[Import, str]]:
    """Open the database, or the bridge that has it open. Yield the import and its place."""
    try:
        seed = load_registry(settings.registry_file)
    except RegistryError as error:
        raise CannotMake(f"data_dir: registry/{error}") from None
    async with open_store(settings, seed) as store:
        if isinstance(store, str):
            dbc = chosen.dbc or settings.can_dbc
            through = partial(_import_through, store, chosen, mapping, dbc)
            yield lambda file: asyncio.to_thread(through, file), f"stored by the bridge at {store}"
        else:
            direct = _make_direct_import(store, chosen, settings, mapping)
            yield direct, f"stored in {settings.database}, which no bridge has open"


def _import_through(
    url: str,
    chosen: argparse.Namespace,
    mapping: dict[str, str] | None,
    dbc: Sequence[str],
    file: Path,
) -> Json:
    """Import a file through a running bridge, sending the DBC files, which it may not have."""
    details = _list_details(chosen)
    sent = [Path(text) for text in dbc if text.endswith(".dbc") and Path(text).is_file()]
    route, kind = "/session/upload", "application/octet-stream"
    body: Json | bytes
    if file.is_dir():
        route += f"?{urlencode({**details, 'filename': 'session.zip'})}"
        body = _pack(file)
    elif sent:
        fields = [*details.items(), *(("dbc", text) for text in dbc if Path(text) not in sent)]
        if mapping is not None:
            fields.append(("mapping", json.dumps(mapping)))
        try:
            body, kind = make_form(fields, [("file", file), *(("dbc", path) for path in sent)])
        except OSError as error:
            why = error.strerror or "it cannot be read"
            raise CannotMake(f"{error.filename}: {why}", "not_importable") from None
    else:
        route, kind = "/session/import", "application/json"
        body = {**details, "path": str(file.absolute()), "dbc": list(dbc)}
        if mapping is not None:
            body["mapping"] = mapping
    with connect(url, LONGEST_S) as bridge:
        return bridge.post(route, body, kind=kind)


def make_form(
    texts: Iterable[tuple[str, str]], files: Iterable[tuple[str, Path]]
) -> tuple[bytes, str]:
    """Encode a form of fields and files. Return it and its content type. Raises OSError."""
    boundary = secrets.token_hex(16)
    parts = [(f'name="{name}"', text.encode()) for name, text in texts]
    for name, file in files:
        filename = file.name.replace('"', "%22")
        parts.append((f'name="{name}"; filename="{filename}"', file.read_bytes()))
    pieces = [
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data
        for head, data in parts
    ]
    data = b"\r\n".join([*pieces, f"--{boundary}--\r\n".encode()])
    return data, f"multipart/form-data; boundary={boundary}"


def _make_direct_import(
    store: Store,
    chosen: argparse.Namespace,
    settings: BridgeSettings,
    mapping: dict[str, str] | None,
) -> Import:
    """Make the import into the database open in this process, as the routes do it."""
    # Imported here, as they cost start-up time that is only needed without a bridge.
    from runtime.bridge.api.imports import UploadQuery, store_recording
    from runtime.bridge.service import Service

    library = read_circuits(settings)
    service = Service(settings, VERSION, library, None, store)
    service.laps = LapBook(store, library)
    files, fields = _Files(chosen, settings, mapping), MultiDict(_list_details(chosen))
    if mapping is not None:
        fields["mapping"] = json.dumps(mapping)

    async def import_file(file: Path) -> Json:
        try:
            choices = parse_query(UploadQuery, fields)
            recording = await asyncio.to_thread(files.read, file)
            answer = await store_recording(service, recording, file.name, choices)
        except ApiError as problem:
            raise CannotMake(str(problem), code_of(problem)) from None
        return answer.model_dump(mode="json")

    return import_file


def _list_details(chosen: argparse.Namespace) -> dict[str, str]:
    """List the details of the files, except their mapping."""
    texts = (*ABOUT, "channel", "session_id")
    return {name: value for name in texts if (value := getattr(chosen, name))}


class _Files:
    """Reads files with the options of the command."""

    def __init__(
        self,
        chosen: argparse.Namespace,
        settings: BridgeSettings,
        mapping: dict[str, str] | None,
    ) -> None:
        car = find_car_file_name(settings.cars_dir, chosen.car)
        self._bus = BusChoice(
            settings.data_dir,
            tuple(chosen.dbc or settings.can_dbc),
            car if car is not None else settings.car_file,
            chosen.channel or None,
            dbc_anywhere=True,
            car_anywhere=True,
        )
        self._mapping = mapping
        self._maps = locate_maps(settings.database)

    def forget(self, file: Path) -> None:
        """Forget the mapping kept for the logger of a file that is already imported."""
        save_map(self._maps, self.read(file).logger, {}, file.name)

    def read(self, file: Path) -> Recording:
        """Read a file. Raises `CannotMake` and `ApiError`."""
        if file.is_dir():
            return read_recording(io.BytesIO(_pack(file)), f"{file.name}.zip")
        if file.suffix.lower() not in SUFFIXES:
            suffixes = " ".join(sorted(SUFFIXES))
            raise CannotMake(f"unknown file format; known: {suffixes}", "not_importable")
        if not file.exists():
            raise CannotMake("no such file", "not_importable")
        absolute = str(file.absolute())
        with (
            open_inside(absolute, None, suffixes=SUFFIXES, max_bytes=MAX_BYTES) as stream,
            tqdm.wrapattr(
                stream,
                "read",
                desc=file.name,
                total=file.stat().st_size,
                leave=False,
                disable=None,  # without a terminal
            ) as shown,
        ):
            kept = read_plain_mappings(self._maps)
            options = Options(bus=self._bus, mapping=self._mapping, kept=kept)
            recording = read_recording(shown, file.name, options)
        if recording.created is not None or recording.facts.get("time_base") == "utc":
            return recording
        return replace(recording, created=file.stat().st_mtime)  # the best estimate


def _report(file: Path, answer: Json, *, as_json: bool) -> None:
    if as_json:
        write_line(json.dumps({"file": str(file), **answer}))
        return
    count = answer.get("n_laps")
    laps = f", {count} lap{'s' * (count != 1)}" if count else ""
    best = f", best {answer['best_lap_s']} s" if answer.get("best_lap_s") else ""
    write_line(
        f"{file.name}: session {answer['session_id']}, {answer['n_frames']} frames, "
        f"{answer['n_signals']} signals, {answer['duration_s']} s of driving{laps}{best}"
    )
    mapping = answer.get("mapping")
    taken = mapping.items() if isinstance(mapping, dict) else ()
    columns = [f"{name} from {mapped['channel']}" for name, mapped in taken if mapped["channel"]]
    if missing := [name for name, mapped in taken if not mapped["channel"]]:
        columns.append(f"no {', '.join(missing)}")
    if columns:
        write_line(f"  {', '.join(columns)}")
    warnings = answer.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        write_line(f"  {warning['code']}: {warning['detail']} ({warning['count']})")


def _report_failure(file: Path, text: str, code: str, *, as_json: bool) -> None:
    if as_json:
        write_line(json.dumps({"file": str(file), "error": text, "code": code}))
    else:
        sys.stderr.write(f"{file.name}: {text}\n")
