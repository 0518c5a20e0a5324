"""Power cuts: what is left of a folder's files when everything since their last fsync is lost.

The program runs with `powerloss.c` loaded into it, which keeps a second copy of the folder as a
disk would have it. Between `Disk.settle` and `Disk.cut` it is killed at any moment.
"""

import atexit
import os
import random
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

SOURCE: Final = Path(__file__).with_name("powerloss.c")
PAGE: Final = 4096
POSSIBLE: Final = sys.platform == "linux" and shutil.which("cc") is not None
"""Whether power can be cut here: that takes Linux and a C compiler."""


@cache
def library() -> Path:
    """The compiled library, which is removed when this process ends."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder)
    built = Path(folder) / "powerloss.so"
    options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
    subprocess.run(["cc", *options, "-o", str(built), str(SOURCE)], check=True)
    return built


class Disk:
    """A folder, and what a power cut leaves of it."""

    def __init__(self, top: Path) -> None:
        """The files lie in ``top/files``, which may be there already."""
        self.files = top.resolve() / "files"
        self._kept = top.resolve() / "disk"
        self._pins: list[int] = []
        self.files.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """Of the program that uses the files."""
        return {
            **os.environ,
            "LD_PRELOAD": str(library()),
            "POWERLOSS_FOLDER": str(self.files),
            "POWERLOSS_DISK": str(self._kept),
        }

    def settle(self) -> None:
        """All that is in the folder now is on disk. Nobody may have its files open."""
        shutil.rmtree(self._kept, ignore_errors=True)
        for kind in ("data", "names"):
            (self._kept / kind).mkdir(parents=True)
        for folder, _, names in os.walk(self.files):
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            lines = [f"{'fd'[one.is_dir()]} {one.inode()} {one.name}\n" for one in entries]
            (self._kept / "names" / str(Path(folder).stat().st_ino)).write_text("".join(lines))
            for name in names:
                path = Path(folder, name)
                shutil.copyfile(path, self._kept / "data" / str(path.stat().st_ino))
                # Open files keep their inodes: a number that the disk knows is not used again.
                self._pins.append(os.open(path, os.O_RDONLY))

    def cut(self, chance: random.Random) -> None:
        """Leave in the folder what the disk has of it; the program has ended.

        In half of the cuts nothing is left of what was not synced. In the others each page of a
        file, and the entries of each folder, may have been written all the same, in any order.
        """
        live = {path.stat().st_ino: path for path in self.files.rglob("*") if path.is_file()}
        left = self.files.with_name("left")
        some = chance.random() < 0.5
        self._restore(self.files.stat().st_ino, self.files, left, live, chance if some else None)
        for pin in self._pins:
            os.close(pin)
        self._pins.clear()
        shutil.rmtree(self.files)
        left.rename(self.files)

    def _restore(
        self,
        inode: int,
        now: Path,
        target: Path,
        live: dict[int, Path],
        chance: random.Random | None,
    ) -> None:
        """Make the folder with that number, which lies at *now* or lay there, at *target*."""
        target.mkdir()
        lines = []
        names = self._kept / "names" / str(inode)
        if names.exists():
            lines = [line.split(" ", 2) for line in names.read_text().splitlines()]
        if chance and chance.random() < 0.5 and now.exists():
            lines = [["fd"[one.is_dir()], str(one.inode()), one.name] for one in os.scandir(now)]
        for kind, number, name in lines:
            if kind == "d":
                self._restore(int(number), now / name, target / name, live, chance)
                continue
            data = self._kept / "data" / number
            kept = data.read_bytes() if data.exists() else b""
            if chance and int(number) in live:
                kept = _mixed(kept, live[int(number)].read_bytes(), chance)
            (target / name).write_bytes(kept)


def _mixed(kept: bytes, now: bytes, chance: random.Random) -> bytes:
    """Each page of the one or the other; a page that neither has written is zeros."""
    share = chance.random()
    size = len(chance.choice((kept, now)))
    pages = []
    for at in range(0, size, PAGE):
        page = (now if chance.random() < share else kept)[at : at + PAGE]
        pages.append(page.ljust(min(PAGE, size - at), b"\0")[: size - at])
    return b"".join(pages)
