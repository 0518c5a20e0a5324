"""A lake of sessions on this machine or in an object store: its folders and file access.

Each session has its own folder, named after season, car and session in Hive style, so that DuckDB,
Spark and pandas read many sessions as one table and skip the others.
"""

import hashlib
import io
import re
import zipfile
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyarrow import fs

from runtime.bridge.storage.lapbook import METHOD
from runtime.bridge.storage.records import SessionRow

TABLES: Final = ("telemetry", "signals", "laps", "session")
"""The last one is written last: a folder with it is complete."""
LAYOUT: Final = 2
"""Increased when columns change, so that existing files are written again."""
UNNAMED: Final = "unnamed"
LONGEST: Final = 200
"""Most characters of a name within a folder's name, for which file systems allow 255 bytes."""
STAMP: Final = b"stamp"
"""Metadata key of the files for the state that they were made from."""
CUT: Final = b"cut"
"""Metadata key of `laps` for where and how the session was cut into laps."""


def folder_of(row: SessionRow) -> str:
    """Return a session's folder in the lake: ``season=2026/car=c03/session=monday``."""
    season = datetime.fromtimestamp(row.started_at / 1000, UTC).year
    return f"season={season}/car={_escape(row.car or UNNAMED)}/session={_escape(row.session_id)}"


def stamp_of(row: SessionRow, circuits: str) -> str:
    """Return a digest that changes with the session; *circuits*: digest of the circuits."""
    facts = {name: value for name, value in asdict(row).items() if name != "key"}
    made_of = (LAYOUT, METHOD, circuits, sorted(facts.items(), key=str))
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def _escape(value: str) -> str:
    """Escape a value for use in a folder's name.

    A value that is too long is truncated, and a digest of the whole is appended.
    """
    part = quote(value, safe=" ") if value.strip(".") else value.replace(".", "%2E")
    if len(part) <= LONGEST:
        return part
    head = re.sub("%.?$", "", part[:LONGEST])  # no half of an escaped byte
    return f"{head}~{hashlib.sha256(value.encode()).hexdigest()[:12]}"


class Lake:
    """The folders of a lake; all paths are relative to its root. Failures raise OSError."""

    def __init__(self, files: fs.FileSystem, root: str) -> None:
        self._files = files
        self._root = root.rstrip("/")
        self._is_local = isinstance(files, fs.LocalFileSystem)

    @classmethod
    def open(cls, place: str) -> "Lake":
        """Open a folder or an address (``s3://bucket/path``). Raises OSError, ArrowException."""
        if "://" in place:
            return cls(*fs.FileSystem.from_uri(place))
        return cls(fs.LocalFileSystem(), Path(place).absolute().as_posix())

    def inside(self, folder: str) -> "Lake":
        """Return a folder of the lake as a lake."""
        return Lake(self._files, f"{self._root}/{folder}")

    def folders(self) -> dict[str, set[str]]:
        """List the folders that have tables, sorted, and the tables of each."""
        selector = fs.FileSelector(self._root, recursive=True, allow_not_found=True)
        folders = defaultdict(set)
        for info in self._files.get_file_info(selector):
            folder, _, name = info.path.removeprefix(f"{self._root}/").rpartition("/")
            table = name.removesuffix(".parquet")
            if folder.count("/") == 2 and name != table and table in TABLES:
                folders[folder].add(table)
        return dict(sorted(folders.items()))

    def stamps(self) -> dict[str, str]:
        """Read the stamp of each complete folder."""
        stamps = {}
        for folder, tables in self.folders().items():
            if TABLES[-1] in tables:
                metadata: dict[bytes, bytes] = {}
                path = f"{self._root}/{folder}/{TABLES[-1]}.parquet"
                # A damaged file has none, and is written again.
                with (
                    suppress(pa.ArrowException, OSError),
                    self._files.open_input_file(path) as file,
                ):
                    metadata = pq.read_schema(file).metadata or {}
                stamps[folder] = metadata.get(STAMP, b"").decode(errors="replace")
        return stamps

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        with self._files.open_input_stream(f"{self._root}/{path}") as file:
            return bytes(file.read())

    def write(self, folder: str, archive: bytes) -> None:
        """Write the files of a session, the one that marks it as complete last."""
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            for name in files.namelist():
                self.put(f"{folder}/{name}", files.read(name))

    def remove(self, folder: str) -> None:
        """Remove a session's folder."""
        self._files.delete_dir(f"{self._root}/{folder}")

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically, as an object store does anyway."""
        path = f"{self._root}/{path}"
        if self._is_local:
            self._files.create_dir(path.rpartition("/")[0])
        target = f"{path}.part" if self._is_local else path
        with self._files.open_output_stream(target) as file:
            file.write(data)
        if self._is_local:
            self._files.move(target, path)
