"""A lake on this machine or in an object store: which folders there are, and files in and out."""

import io
import zipfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyarrow import fs

from runtime.bridge.lake.layout import STAMP, TABLES


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
