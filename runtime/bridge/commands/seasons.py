"""The command ``season``: digests of all sessions of a lake, on one machine or many."""

import argparse
import hashlib
import io
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pydantic import TypeAdapter

from runtime.bridge.commands.flags import WRONG_USE, make_parser, parse_place, read_line, run_work
from runtime.bridge.commands.sessions import read_circuits
from runtime.bridge.session.units import round_to
from runtime.bridge.storage.lake.layout import TABLES, Lake
from runtime.bridge.storage.lake.reading import Damaged, read_about
from runtime.bridge.storage.lake.season import (
    CornerDigest,
    Driving,
    Season,
    SessionDigest,
    digest_session,
    hash_content,
    summarise_season,
)
from runtime.bridge.track.file import format_track
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track, TrackError

RETRIES: Final = 3
"""How often a session is retried after its worker died."""
DIGITS: Final = 6
"""Decimals of all numbers in the result, as processors may differ in further ones."""
RESULT: Final = "season.json"
SHOWN: Final = frozenset("config data_dir track".split())
EXAMPLES: Final = """examples:
  python -m runtime.bridge season --lake season
  python -m runtime.bridge season --lake season --workers 4
  python -m runtime.bridge season --lake s3://bucket/season --scheduler tcp://10.0.0.5:8786

The result is season.json, sessions.parquet and corners.parquet. Unchanged sessions in it are not
computed again. --workers and --scheduler need the extra season (Dask)."""
Json = dict[str, Any]
_DIGEST: Final = TypeAdapter(SessionDigest)
_SEASON: Final = TypeAdapter(Season)
_TYPES: Final = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
log = logging.getLogger(__name__)


class Task(NamedTuple):
    """A session for a worker to digest."""

    place: str
    """Place of the lake."""
    folder: str
    track: Track | None
    circuit: str
    """Digest of the track."""
    earlier: str | None
    """Content of its digest from an earlier run."""


class Outcome(NamedTuple):
    """The outcome of a session: a digest, nothing if unchanged, or the reason of a failure."""

    folder: str
    digest: Json | None = None
    why: str = ""


def main(argv: Sequence[str]) -> int:
    """0: all sessions are in the result; 1: not all; 2: wrong use."""
    chosen, settings = read_line(_parser(), argv, SHOWN)

    def work() -> int:
        return _run(chosen, read_circuits(settings))

    return run_work("season", work, TrackError, OSError, pa.ArrowException)


def _run(chosen: argparse.Namespace, library: Library) -> int:
    lake = Lake.open(chosen.lake)
    result = Lake.open(chosen.out) if chosen.out else lake.inside("digest")
    folders = lake.folders()
    if not folders:
        sys.stderr.write(f"season: no sessions in {chosen.lake}\n")
        return WRONG_USE
    digests, damaged = _read_earlier(result), {}
    circuit = cache(
        lambda key: hashlib.sha256(format_track(library.tracks[key]).encode()).hexdigest()
    )
    tasks = []
    for folder, tables in folders.items():
        try:
            track = _find_track(lake, folder, tables, library)
        except (Damaged, OSError) as problem:
            damaged[folder] = str(problem)
        else:
            earlier = digests[folder]["content"] if folder in digests else None
            tasks.append(
                Task(chosen.lake, folder, track, circuit(track.id) if track else "", earlier)
            )
    n_new = 0
    for outcome in _run_tasks(tasks, chosen):
        if outcome.why:
            damaged[outcome.folder] = outcome.why
        elif outcome.digest is not None:
            digests[outcome.folder] = outcome.digest
            n_new += 1
    whole = {task.folder: digests[task.folder] for task in tasks if task.folder not in damaged}
    for folder, why in sorted(damaged.items()):
        sys.stderr.write(f"{folder}: {why}\n")
    digest = _write(result, list(whole.values()), damaged)
    sys.stdout.write(f"{len(whole)} sessions, {n_new} of them computed; digest {digest}\n")
    return 1 if damaged else 0


def _find_track(lake: Lake, folder: str, tables: set[str], library: Library) -> Track | None:
    """Find the circuit of a session. Raises `Damaged`."""
    if missing := [f"{name}.parquet" for name in TABLES if name not in tables]:
        raise Damaged(f"{', '.join(missing)} missing; export it again")
    about = read_about(lake.read(f"{folder}/session.parquet"))
    if about.track_id is None:
        return None
    track = library.tracks.get(about.track_id)
    if track is None:
        raise Damaged(f"unknown circuit {about.track_id}; --data-dir names the folder")
    return track


def digest_task(task: Task) -> Outcome:
    """Read a session and compute its digest; runs in a worker."""
    lake = Lake.open(task.place)
    try:
        files = {name: lake.read(f"{task.folder}/{name}.parquet") for name in TABLES}
        content = hash_content(files, task.circuit)
        if content == task.earlier:
            return Outcome(task.folder)
        digest = digest_session(task.folder, content, files, task.track)
    except (Damaged, OSError) as problem:
        return Outcome(task.folder, why=str(problem))
    except Exception as problem:
        # Impossible numbers may fail anywhere; a bad session must not hide the others.
        log.exception("%s cannot be computed", task.folder)
        return Outcome(task.folder, why=f"cannot be computed: {problem!r}")
    return Outcome(task.folder, _round_numbers(_DIGEST.dump_python(digest, mode="json")))


def _run_tasks(tasks: Sequence[Task], chosen: argparse.Namespace) -> Iterator[Outcome]:
    """Yield the outcome of each task, in any order."""
    if chosen.workers or chosen.scheduler:
        try:
            import distributed
        except ModuleNotFoundError:
            sys.stderr.write("season: the extra season is not installed; using one process\n")
        else:
            # Its messages about lost workers are irrelevant, as their sessions are retried.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            try:
                client = distributed.Client(**_choose_cluster(chosen))
            except ValueError as problem:
                raise OSError(f"--scheduler is not a scheduler's address: {problem}") from problem
            with client:
                futures = client.map(digest_task, tasks, pure=False, retries=RETRIES)
                folders = {f.key: task.folder for f, task in zip(futures, tasks, strict=True)}
                for future in distributed.as_completed(futures):
                    error = future.exception()
                    yield Outcome(folders[future.key], why=str(error)) if error else future.result()
            return
    yield from map(digest_task, tasks)


def _parse_count(text: str) -> int:
    """Parse a number of processes, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a valid number of processes")
    return int(text)


def _choose_cluster(chosen: argparse.Namespace) -> Json:
    """Return arguments of `distributed.Client` for a running cluster, or one on this machine."""
    if chosen.scheduler:
        return {"address": chosen.scheduler}
    local = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": logging.ERROR}
    return {"n_workers": chosen.workers, "threads_per_worker": 1, "processes": True, **local}


def _read_earlier(result: Lake) -> dict[str, Json]:
    """Read the digests of an earlier run by folder; empty if they cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        rows = orjson.loads(result.read(RESULT))["sessions"]
        return {_DIGEST.validate_python(row).folder: row for row in rows}
    return {}


def _write(result: Lake, rows: Sequence[Json], damaged: Mapping[str, str]) -> str:
    """Write the result. Return the digest of its bytes."""
    season = summarise_season(_DIGEST.validate_python(row) for row in rows)
    sessions = [{**row, **(row["driving"] or {})} for row in rows]
    corners = [{**row, **corner} for row in sessions for corner in row.get("corners", ())]
    result.put("sessions.parquet", _write_parquet(sessions, SessionDigest, Driving))
    result.put("corners.parquet", _write_parquet(corners, SessionDigest, CornerDigest))
    whole = {
        "season": _round_numbers(_SEASON.dump_python(season, mode="json")),
        "sessions": rows,
        "damaged": dict(sorted(damaged.items())),
    }
    data = orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    result.put(RESULT, data)
    return hashlib.sha256(data).hexdigest()


def _round_numbers(value: Any) -> Any:
    """Round all numbers of a value."""
    if isinstance(value, float):
        return round_to(value, DIGITS)
    if isinstance(value, dict):
        return {name: _round_numbers(part) for name, part in value.items()}
    return [_round_numbers(part) for part in value] if isinstance(value, list) else value


def _write_parquet(rows: Sequence[Json], *shapes: type) -> bytes:
    """Write the rows with the scalar columns of the *shapes* as parquet."""
    columns: dict[str, pa.DataType] = {}
    for shape in shapes:
        for name, hint in get_type_hints(shape).items():
            kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
            columns.update((name, _TYPES[kind]) for kind in kinds if kind in _TYPES)
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(columns)), sink, compression="zstd")
    return sink.getvalue()


def _parser() -> argparse.ArgumentParser:
    about = (
        "Summarise all sessions of a lake: best laps and progress of drivers, and the corners in "
        "which they lose time again and again."
    )
    parser = make_parser("season", about, EXAMPLES)
    place = "folder, or address of an object store"
    result = "place of the result; default: digest in the lake"
    parser.add_argument("--lake", type=parse_place, required=True, metavar="PLACE", help=place)
    parser.add_argument("--out", type=parse_place, metavar="PLACE", help=result)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=_parse_count, metavar="N", help="processes to use here")
    where.add_argument("--scheduler", metavar="ADDRESS", help="address of a running Dask scheduler")
    return parser
