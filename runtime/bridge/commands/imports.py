"""The command ``import``: recorded files become sessions, with or without a running bridge."""

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
from runtime.bridge.commands.flags import (
    WRONG_USE,
    make_parser,
    read_line,
    run_work,
    write_line,
)
from runtime.bridge.commands.sessions import CannotMake, asking, circuits, open_store
from runtime.bridge.errors import code_of
from runtime.bridge.formats.detection import MAX_BYTES, SUFFIXES, read_recording
from runtime.bridge.formats.options import BusChoice, Options
from runtime.bridge.formats.readers.parquet import ARCHIVE_FILES
from runtime.bridge.formats.safe_open import open_inside
from runtime.bridge.formats.saved_mappings import keep_map, kept_mappings, maps_file, read_maps
from runtime.bridge.formats.session_naming import car_file_name
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
"""A running bridge that takes longer over one file is given up."""
SHOWN: Final = frozenset(
    "config data_dir db db_backend port can_dbc can_car_config can_no_car_config".split()
)
"""Settings of the server that an import uses."""
ABOUT: Final = ("driver", "driver_level", "track", "car", "note")
"""Flags that say what a session is known by."""
EXAMPLES: Final = f"""examples:
  {PROGRAM} import session.vbo --driver Ada
  {PROGRAM} import track-day/ --driver Ada
  {PROGRAM} import *.log --dbc my-car.dbc --car tarnhow-pip-180
  {PROGRAM} import day.vbo --dry-run
  {PROGRAM} import day.vbo --map rpm=ECU_RPM --map brake_bar=none

Of a folder all files that can be read are brought in, the older ones first, each as a session;
of a lake, which `export` writes, the sessions as they were.
Files: those of docs/formats.md, from VBO and any CSV to CAN logs; .mf4 and .xrk/.xrz with their
extras. While a bridge runs on the database the files are brought in through it, otherwise
directly."""


Bring: TypeAlias = Callable[[Path], Awaitable[Json]]
"""Brings one file in and gives what an import answers. Raises `CannotMake`."""


def main(argv: Sequence[str]) -> int:
    """0: all files are in; 1: not all; 2: wrong use; the other files go on where one fails."""
    parser = _parser()
    chosen, settings = read_line(parser, argv, SHOWN)
    if not chosen.files and not chosen.list_maps:
        parser.error("the following arguments are required: FILE")
    given = chosen.files
    if chosen.forget_map and chosen.maps:
        parser.error("give --map or --forget-map")
    try:
        mapping = _mapping(chosen)
    except ValueError as problem:
        parser.error(str(problem))
    chosen.files = list(_files_of(given))
    if given and not chosen.files:
        return WRONG_USE
    if chosen.session_id and len(chosen.files) > 1:
        parser.error("--session-id names one session: give one file")

    def work() -> int:
        if chosen.list_maps:
            return _list_maps(settings)
        if chosen.dry_run:
            return _show(chosen, _Files(chosen, settings, mapping))
        return asyncio.run(_import(chosen, settings, mapping))

    return run_work("import", work, StoreUnusable, CannotMake, TrackError, ApiError)


def _parser() -> argparse.ArgumentParser:
    about = "Bring recorded files in as sessions, each whole or not at all."
    parser = make_parser("import", about, EXAMPLES)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE|FOLDER")
    parser.add_argument("--driver", default="", help="who drove")
    parser.add_argument("--driver-level", default="", help="beginner, intermediate or pro")
    parser.add_argument(
        "--track", default="", help="default: the circuit that the positions follow"
    )
    parser.add_argument("--car", default="", help="name of the car; of a CAN log its car file")
    parser.add_argument("--note", default="", help="a remark that is kept with the session")
    parser.add_argument("--dbc", action="append", default=[], help="DBC file; may be repeated")
    parser.add_argument("--channel", default="", help="channel of a CAN log; default: all")
    parser.add_argument("--session-id", default="", help="default: circuit and time of recording")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        dest="maps",
        metavar="SIGNAL=CHANNEL[:UNIT]",
        help="take a signal from that channel; SIGNAL=none: from none; may be repeated; kept for "
        "files of the same logger",
    )
    parser.add_argument(
        "--forget-map", action="store_true", help="forget what was kept for the logger of the files"
    )
    parser.add_argument(
        "--list-maps", action="store_true", help="show what is kept for each logger, and end"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be taken from which channel"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON for each file")
    return parser


def _files_of(given: Sequence[Path]) -> Iterator[Path]:
    """The files themselves, and those of folders that can be read, by the time of their writing.

    A folder in which the files of one session lie, as in a lake, stands for that session.
    """
    for path in given:
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
            sys.stderr.write(f"{path}: holds no file of a kind that is imported\n")
        yield from (file for _, file in sorted(inside))


def _is_recording(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and file.is_file() and file.name[0] != "."


def _is_session(folder: Path) -> bool:
    return all((folder / name).is_file() for name in ARCHIVE_FILES)


def _packed(folder: Path) -> bytes:
    """The files of a session in one archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ARCHIVE_FILES:
            archive.write(folder / name, name)
    return packed.getvalue()


def _mapping(chosen: argparse.Namespace) -> dict[str, str] | None:
    """The flags ``--map`` by signal; None: as kept. Raises ValueError."""
    mapping: dict[str, str] = {}
    for text in chosen.maps:
        signal, equals, channel = text.partition("=")
        if not (equals and signal.strip() and channel.strip()):
            raise ValueError(f"--map {text}: write SIGNAL=CHANNEL, as in rpm=ECU_RPM")
        mapping[signal.strip()] = channel.strip()
    return mapping if mapping or chosen.forget_map else None


def _list_maps(settings: BridgeSettings) -> int:
    for logger, kept in read_maps(maps_file(settings.database)).items():
        texts = ", ".join(f"{signal}={channel}" for signal, channel in kept.mapping.items())
        write_line(f"{logger}: {texts} ({kept.file}, {kept.given_at})")
    return 0


def _show(chosen: argparse.Namespace, files: "_Files") -> int:
    """What would be taken of each file."""
    failed = 0
    for file in chosen.files:
        try:
            recording = files.read(file)
        except (CannotMake, ApiError) as problem:
            failed += 1
            _tell_failure(file, str(problem), problem.code, as_json=chosen.json)
            continue
        mapping = {signal: mapped._asdict() for signal, mapped in recording.mapping.items()}
        if chosen.json:
            told = {"logger": recording.logger, "mapping": mapping, "channels": recording.channels}
            write_line(json.dumps({"file": str(file), **told}))
            continue
        write_line(f"{file.name}: logger {recording.logger}, {len(recording.frames)} frames")
        for signal, mapped in recording.mapping.items():
            write_line(f"  {signal}: {_in_words(mapped)}")
        if recording.unmapped:
            write_line(f"  kept under their own names: {', '.join(recording.unmapped)}")
    return 1 if failed else 0


def _in_words(mapped: Mapped) -> str:
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
    async with _bringing(chosen, settings, mapping) as (bring, place):
        for file in chosen.files:
            try:
                done = await bring(file)
            except CannotMake as problem:
                if chosen.forget_map and problem.code == SessionExists.code:
                    await asyncio.to_thread(_Files(chosen, settings, mapping).forget, file)
                    write_line(f"{file.name}: the mapping of its logger is forgotten")
                    continue
                # the flag that helps
                helps = "; --session-id gives another id" * (problem.code == SessionExists.code)
                failed.append((file, f"{problem}{helps}", problem.code))
                if chosen.json:
                    _tell_failure(*failed[-1], as_json=True)
            else:
                stored = True
                _tell(file, done, as_json=chosen.json)
    if stored and not chosen.json:
        write_line(place)
    if failed and not chosen.json:
        if len(chosen.files) > 1:
            sys.stderr.write(f"{len(failed)} of {len(chosen.files)} files were not imported:\n")
        for failure in failed:
            _tell_failure(*failure, as_json=False)
    return 1 if failed else 0


@asynccontextmanager
async def _bringing(
    chosen: argparse.Namespace, settings: BridgeSettings, mapping: dict[str, str] | None
) -> AsyncIterator[tuple[Bring, str]]:
    """Into the database itself, or through the bridge that has it open, and which that is."""
    try:
        seed = load_registry(settings.registry_file)
    except RegistryError as error:
        raise CannotMake(f"data_dir: registry/{error}") from None
    async with open_store(settings, seed) as store:
        if isinstance(store, str):
            dbc = chosen.dbc or settings.can_dbc
            through = partial(_bring_through, store, chosen, mapping, dbc)
            yield lambda file: asyncio.to_thread(through, file), f"stored by the bridge at {store}"
        else:
            direct = _bringing_directly(store, chosen, settings, mapping)
            yield direct, f"stored in {settings.database}, which no bridge has open"


def _bring_through(
    url: str,
    chosen: argparse.Namespace,
    mapping: dict[str, str] | None,
    dbc: Sequence[str],
    file: Path,
) -> Json:
    """Have a running bridge import a file; it may know none of the DBC files, so they are sent."""
    said = _said(chosen)
    sent = [Path(name) for name in dbc if name.endswith(".dbc") and Path(name).is_file()]
    path, kind = "/session/upload", "application/octet-stream"
    body: Json | bytes
    if file.is_dir():
        path += f"?{urlencode({**said, 'filename': 'session.zip'})}"
        body = _packed(file)
    elif sent:
        told = [*said.items(), *(("dbc", name) for name in dbc if Path(name) not in sent)]
        if mapping is not None:
            told.append(("mapping", json.dumps(mapping)))
        try:
            body, kind = make_form(told, [("file", file), *(("dbc", one) for one in sent)])
        except OSError as error:
            why = error.strerror or "it cannot be read"
            raise CannotMake(f"{error.filename}: {why}", "not_importable") from None
    else:
        path, kind = "/session/import", "application/json"
        body = {**said, "path": str(file.absolute()), "dbc": list(dbc)}
        if mapping is not None:
            body["mapping"] = mapping
    with asking(url, LONGEST_S) as bridge:
        return bridge.post(path, body, kind=kind)


def make_form(
    texts: Iterable[tuple[str, str]], files: Iterable[tuple[str, Path]]
) -> tuple[bytes, str]:
    """A form of fields and of files, and its content type. Raises OSError."""
    mark = secrets.token_hex(16)
    parts = [(f'name="{name}"', text.encode()) for name, text in texts]
    for name, file in files:
        filename = file.name.replace('"', "%22")
        parts.append((f'name="{name}"; filename="{filename}"', file.read_bytes()))
    pieces = [
        f"--{mark}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data
        for head, data in parts
    ]
    data = b"\r\n".join([*pieces, f"--{mark}--\r\n".encode()])
    return data, f"multipart/form-data; boundary={mark}"


def _bringing_directly(
    store: Store,
    chosen: argparse.Namespace,
    settings: BridgeSettings,
    mapping: dict[str, str] | None,
) -> Bring:
    """Into the database, which this process has open, as the routes of a bridge do it."""
    # Imported here: they cost start-up time that a command need not pay while a bridge runs.
    from runtime.bridge.api.imports import UploadQuery, store_recording
    from runtime.bridge.service import Service

    library = circuits(settings)
    service = Service(settings, VERSION, library, None, store)
    service.laps = LapBook(store, library)
    files, told = _Files(chosen, settings, mapping), MultiDict(_said(chosen))
    if mapping is not None:
        told["mapping"] = json.dumps(mapping)

    async def bring(file: Path) -> Json:
        try:
            choices = parse_query(UploadQuery, told)
            recording = await asyncio.to_thread(files.read, file)
            answer = await store_recording(service, recording, file.name, choices)
        except ApiError as problem:
            raise CannotMake(str(problem), code_of(problem)) from None
        return answer.model_dump(mode="json")

    return bring


def _said(chosen: argparse.Namespace) -> dict[str, str]:
    """What the command says of its files but for their mapping."""
    texts = (*ABOUT, "channel", "session_id")
    return {name: value for name in texts if (value := getattr(chosen, name))}


class _Files:
    """Reads files as the command says."""

    def __init__(
        self,
        chosen: argparse.Namespace,
        settings: BridgeSettings,
        mapping: dict[str, str] | None,
    ) -> None:
        car = car_file_name(settings.cars_dir, chosen.car)
        self._bus = BusChoice(
            settings.data_dir,
            tuple(chosen.dbc or settings.can_dbc),
            car if car is not None else settings.car_file,
            chosen.channel or None,
            dbc_anywhere=True,
            car_anywhere=True,
        )
        self._mapping = mapping
        self._maps = maps_file(settings.database)

    def forget(self, file: Path) -> None:
        """Forget what was kept for the logger of a file that is imported already."""
        keep_map(self._maps, self.read(file).logger, {}, file.name)

    def read(self, file: Path) -> Recording:
        """Raises `CannotMake` and `ApiError`."""
        if file.is_dir():
            return read_recording(io.BytesIO(_packed(file)), f"{file.name}.zip")
        if file.suffix.lower() not in SUFFIXES:
            kinds = " ".join(sorted(SUFFIXES))
            raise CannotMake(f"is of no kind that is imported: {kinds}", "not_importable")
        if not file.exists():
            raise CannotMake("there is no such file", "not_importable")
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
            kept = kept_mappings(self._maps)
            options = Options(bus=self._bus, mapping=self._mapping, kept=kept)
            recording = read_recording(shown, file.name, options)
        if recording.created is not None or recording.facts.get("time_base") == "utc":
            return recording
        return replace(recording, created=file.stat().st_mtime)  # the best that is known


def _tell(file: Path, done: Json, *, as_json: bool) -> None:
    if as_json:
        write_line(json.dumps({"file": str(file), **done}))
        return
    count = done.get("n_laps")
    laps = f", {count} lap{'s' * (count != 1)}" if count else ""
    best = f", best {done['best_lap_s']} s" if done.get("best_lap_s") else ""
    write_line(
        f"{file.name}: session {done['session_id']}, {done['n_frames']} frames, "
        f"{done['n_signals']} signals, {done['duration_s']} s of driving{laps}{best}"
    )
    mapping = done.get("mapping")
    taken = mapping.items() if isinstance(mapping, dict) else ()
    columns = [f"{name} from {mapped['channel']}" for name, mapped in taken if mapped["channel"]]
    if missing := [name for name, mapped in taken if not mapped["channel"]]:
        columns.append(f"no {', '.join(missing)}")
    if columns:
        write_line(f"  {', '.join(columns)}")
    warnings = done.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        write_line(f"  {warning['code']}: {warning['detail']} ({warning['count']})")


def _tell_failure(file: Path, text: str, code: str, *, as_json: bool) -> None:
    if as_json:
        write_line(json.dumps({"file": str(file), "error": text, "code": code}))
    else:
        sys.stderr.write(f"{file.name}: {text}\n")
