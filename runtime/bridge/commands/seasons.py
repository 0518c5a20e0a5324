"""The command ``season``: what all sessions of a lake show together, alone or on many machines."""

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

from runtime.bridge.commands.flags import WRONG_USE, lake_place, make_parser, read_line, run_work
from runtime.bridge.commands.sessions import circuits
from runtime.bridge.session.units import round_to
from runtime.bridge.storage.lake.layout import TABLES, Lake
from runtime.bridge.storage.lake.reading import Damaged, read_about
from runtime.bridge.storage.lake.season import (
    CornerDigest,
    Driving,
    Season,
    SessionDigest,
    content_of,
    digest_session,
    see_season,
)
from runtime.bridge.track.file import format_track
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track, TrackError

RETRIES: Final = 3
"""So often a session is begun anew whose worker died."""
DIGITS: Final = 6
"""Decimals of every number of the result: processors may differ in the last ones."""
RESULT: Final = "season.json"
SHOWN: Final = frozenset("config data_dir track".split())
EXAMPLES: Final = """examples:
  python -m runtime.bridge season --lake season
  python -m runtime.bridge season --lake season --workers 4
  python -m runtime.bridge season --lake s3://bucket/season --scheduler tcp://10.0.0.5:8786

The result is season.json, sessions.parquet and corners.parquet. Sessions that are in it and have
not changed are not computed again. --workers and --scheduler need the extra season (Dask)."""
Json = dict[str, Any]
_DIGEST: Final = TypeAdapter(SessionDigest)
_SEASON: Final = TypeAdapter(Season)
_TYPES: Final = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
log = logging.getLogger(__name__)


class Task(NamedTuple):
    """A session that a worker looks at."""

    place: str
    """Of the lake."""
    folder: str
    track: Track | None
    circuit: str
    """Digest of the track."""
    earlier: str | None
    """What its digest of an earlier run was made of."""


class Outcome(NamedTuple):
    """What came of a session: a digest, nothing where it has not changed, or why there is none."""

    folder: str
    digest: Json | None = None
    why: str = ""


def main(argv: Sequence[str]) -> int:
    """0: all sessions are in the result; 1: not all; 2: wrong use."""
    chosen, settings = read_line(_parser(), argv, SHOWN)

    def work() -> int:
        return _run(chosen, circuits(settings))

    return run_work("season", work, TrackError, OSError, pa.ArrowException)


def _run(chosen: argparse.Namespace, library: Library) -> int:
    lake = Lake.open(chosen.lake)
    result = Lake.open(chosen.out) if chosen.out else lake.inside("digest")
    folders = lake.folders()
    if not folders:
        sys.stderr.write(f"season: there is no session in {chosen.lake}\n")
        return WRONG_USE
    digests, damaged = _earlier(result), {}
    circuit = cache(
        lambda key: hashlib.sha256(format_track(library.tracks[key]).encode()).hexdigest()
    )
    tasks = []
    for folder, tables in folders.items():
        try:
            track = _track(lake, folder, tables, library)
        except (Damaged, OSError) as problem:
            damaged[folder] = str(problem)
        else:
            earlier = digests[folder]["content"] if folder in digests else None
            tasks.append(
                Task(chosen.lake, folder, track, circuit(track.id) if track else "", earlier)
            )
    anew = 0
    for outcome in _each(tasks, chosen):
        if outcome.why:
            damaged[outcome.folder] = outcome.why
        elif outcome.digest is not None:
            digests[outcome.folder] = outcome.digest
            anew += 1
    whole = {task.folder: digests[task.folder] for task in tasks if task.folder not in damaged}
    for folder, why in sorted(damaged.items()):
        sys.stderr.write(f"{folder}: {why}\n")
    word = _write(result, list(whole.values()), damaged)
    sys.stdout.write(f"{len(whole)} sessions, {anew} of them anew; digest {word}\n")
    return 1 if damaged else 0


def _track(lake: Lake, folder: str, tables: set[str], library: Library) -> Track | None:
    """The circuit of a session. Raises `Damaged`."""
    if missing := [f"{name}.parquet" for name in TABLES if name not in tables]:
        raise Damaged(f"{', '.join(missing)} missing; export it again")
    about = read_about(lake.read(f"{folder}/session.parquet"))
    if about.track_id is None:
        return None
    track = library.tracks.get(about.track_id)
    if track is None:
        raise Damaged(f"there is no circuit {about.track_id} here; --data-dir names the folder")
    return track


def look_at(task: Task) -> Outcome:
    """Read a session and compute its digest; runs in a worker."""
    lake = Lake.open(task.place)
    try:
        files = {name: lake.read(f"{task.folder}/{name}.parquet") for name in TABLES}
        content = content_of(files, task.circuit)
        if content == task.earlier:
            return Outcome(task.folder)
        digest = digest_session(task.folder, content, files, task.track)
    except (Damaged, OSError) as problem:
        return Outcome(task.folder, why=str(problem))
    except Exception as problem:
        # Impossible numbers may fail anywhere: one such session must not hide the others.
        log.exception("%s cannot be computed", task.folder)
        return Outcome(task.folder, why=f"cannot be computed: {problem!r}")
    return Outcome(task.folder, _plain(_DIGEST.dump_python(digest, mode="json")))


def _each(tasks: Sequence[Task], chosen: argparse.Namespace) -> Iterator[Outcome]:
    """The outcome of each task, in any order."""
    if chosen.workers or chosen.scheduler:
        try:
            import distributed
        except ModuleNotFoundError:
            sys.stderr.write("season: the extra season is not installed; one process does it all\n")
        else:
            # What it tells of workers that come and go is no news: their sessions are begun anew.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            try:
                client = distributed.Client(**_cluster(chosen))
            except ValueError as problem:
                raise OSError(f"--scheduler is no address of a scheduler: {problem}") from problem
            with client:
                futures = client.map(look_at, tasks, pure=False, retries=RETRIES)
                folders = {one.key: task.folder for one, task in zip(futures, tasks, strict=True)}
                for future in distributed.as_completed(futures):
                    lost = future.exception()
                    yield Outcome(folders[future.key], why=str(lost)) if lost else future.result()
            return
    yield from map(look_at, tasks)


def _count(text: str) -> int:
    """A number of processes; raises the error that argparse shows."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a valid number of processes")
    return int(text)


def _cluster(chosen: argparse.Namespace) -> Json:
    """What `distributed.Client` needs for the cluster that is there, or for one on this machine."""
    if chosen.scheduler:
        return {"address": chosen.scheduler}
    here = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": logging.ERROR}
    return {"n_workers": chosen.workers, "threads_per_worker": 1, "processes": True, **here}


def _earlier(result: Lake) -> dict[str, Json]:
    """The digests of an earlier run by folder; none where it left nothing that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        rows = orjson.loads(result.read(RESULT))["sessions"]
        return {_DIGEST.validate_python(row).folder: row for row in rows}
    return {}


def _write(result: Lake, rows: Sequence[Json], damaged: Mapping[str, str]) -> str:
    """Write the result, and give the digest of its bytes."""
    season = see_season(_DIGEST.validate_python(row) for row in rows)
    sessions = [{**row, **(row["driving"] or {})} for row in rows]
    corners = [{**row, **corner} for row in sessions for corner in row.get("corners", ())]
    result.put("sessions.parquet", _parquet(sessions, SessionDigest, Driving))
    result.put("corners.parquet", _parquet(corners, SessionDigest, CornerDigest))
    whole = {
        "season": _plain(_SEASON.dump_python(season, mode="json")),
        "sessions": rows,
        "damaged": dict(sorted(damaged.items())),
    }
    data = orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    result.put(RESULT, data)
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """The value with all its numbers rounded."""
    if isinstance(value, float):
        return round_to(value, DIGITS)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _parquet(rows: Sequence[Json], *shapes: type) -> bytes:
    """The rows with those columns of the *shapes* that hold one value each."""
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
        "Show what all sessions of a lake tell together: best laps of drivers, how they develop, "
        "and the corners in which they lose time again and again."
    )
    parser = make_parser("season", about, EXAMPLES)
    place = "folder, or address of an object store"
    result = "for the result; default: digest in the lake"
    parser.add_argument("--lake", type=lake_place, required=True, metavar="PLACE", help=place)
    parser.add_argument("--out", type=lake_place, metavar="PLACE", help=result)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=_count, metavar="N", help="processes of this machine")
    where.add_argument("--scheduler", metavar="ADDRESS", help="address of a running Dask scheduler")
    return parser
