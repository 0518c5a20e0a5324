"""A lake of sessions on this machine or in an object store: its folders, and files in and out.

The files of a session lie in a folder of their own, named after season, car and session as Hive
does, so that DuckDB, Spark and pandas read many sessions as one table and skip the others.
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
"""The last one is written last: a folder that has it is whole."""
LAYOUT: Final = 2
"""Raised when columns change: what is there is written anew."""
UNNAMED: Final = "unnamed"
LONGEST: Final = 200
"""Characters of a name in a folder's; file systems take 255 bytes with what stands around it."""
STAMP: Final = b"stamp"
"""Under which the files' metadata tell what they were made of."""
CUT: Final = b"cut"
"""Under which those of `laps` tell where and how the session was cut into laps."""


def folder_of(row: SessionRow) -> str:
    """Where the files of a session lie in the lake: ``season=2026/car=c03/session=monday``."""
    season = datetime.fromtimestamp(row.started_at / 1000, UTC).year
    return f"season={season}/car={_escaped(row.car or UNNAMED)}/session={_escaped(row.session_id)}"


def stamp_of(row: SessionRow, circuits: str) -> str:
    """Tells whether files are of the session as it is now; *circuits*: digest of the circuits."""
    facts = {name: value for name, value in asdict(row).items() if name != "key"}
    made_of = (LAYOUT, METHOD, circuits, sorted(facts.items(), key=str))
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def _escaped(value: str) -> str:
    """As a part of a path, with nothing in it that a folder's name may not have.

    A name that is too long is cut, and a digest of the whole tells it from others.
    """
    part = quote(value, safe=" ") if value.strip(".") else value.replace(".", "%2E")
    if len(part) <= LONGEST:
        return part
    kept = re.sub("%.?$", "", part[:LONGEST])  # no half of an escaped byte
    return f"{kept}~{hashlib.sha256(value.encode()).hexdigest()[:12]}"


class Lake:
    """The folders of a lake; every path is below its root. What fails raises OSError."""

    def __init__(self, files: fs.FileSystem, root: str) -> None:
        self._files = files
        self._root = root.rstrip("/")
        self._is_local = isinstance(files, fs.LocalFileSystem)

    @classmethod
    def open(cls, place: str) -> "Lake":
        """A folder, or an address as ``s3://bucket/path``. Raises OSError and ArrowException."""
        if "://" in place:
            return cls(*fs.FileSystem.from_uri(place))
        return cls(fs.LocalFileSystem(), Path(place).absolute().as_posix())

    def inside(self, folder: str) -> "Lake":
        """A folder of it as a place of its own."""
        return Lake(self._files, f"{self._root}/{folder}")

    def folders(self) -> dict[str, set[str]]:
        """The tables of each folder that has any, in the order of the folders."""
        selector = fs.FileSelector(self._root, recursive=True, allow_not_found=True)
        found = defaultdict(set)
        for info in self._files.get_file_info(selector):
            folder, _, name = info.path.removeprefix(f"{self._root}/").rpartition("/")
            table = name.removesuffix(".parquet")
            if folder.count("/") == 2 and name != table and table in TABLES:
                found[folder].add(table)
        return dict(sorted(found.items()))

    def stamps(self) -> dict[str, str]:
        """What the files of each folder that is whole were made of."""
        found = {}
        for folder, tables in self.folders().items():
            if TABLES[-1] in tables:
                metadata: dict[bytes, bytes] = {}
                path = f"{self._root}/{folder}/{TABLES[-1]}.parquet"
                # A damaged one has none, and is written anew.
                with (
                    suppress(pa.ArrowException, OSError),
                    self._files.open_input_file(path) as file,
                ):
                    metadata = pq.read_schema(file).metadata or {}
                found[folder] = metadata.get(STAMP, b"").decode(errors="replace")
        return found

    def read(self, path: str) -> bytes:
        """A whole file."""
        with self._files.open_input_stream(f"{self._root}/{path}") as file:
            return bytes(file.read())

    def write(self, folder: str, archive: bytes) -> None:
        """Put the files of a session there, the one that says that it is whole last."""
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            for name in files.namelist():
                self.put(f"{folder}/{name}", files.read(name))

    def remove(self, folder: str) -> None:
        """Remove a session's folder."""
        self._files.delete_dir(f"{self._root}/{folder}")

    def put(self, path: str, data: bytes) -> None:
        """A file is the old one or the new one at any moment; an object store does so by itself."""
        path = f"{self._root}/{path}"
        if self._is_local:
            self._files.create_dir(path.rpartition("/")[0])
        target = f"{path}.part" if self._is_local else path
        with self._files.open_output_stream(target) as file:
            file.write(data)
        if self._is_local:
            self._files.move(target, path)
