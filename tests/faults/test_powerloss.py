"""The power cut of the tests takes what was not synced, however it was written, and no more."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.faults.powerloss import POSSIBLE, Disk

pytestmark = pytest.mark.skipif(not POSSIBLE, reason="needs Linux and a C compiler")

STEPS: Final = {
    "written": "f.write(b'new'); f.flush()",
    "written and synced": "f.write(b'new'); f.flush(); os.fsync(f.fileno())",
    "written at a place": "os.pwrite(f.fileno(), b'new', 0)",
    "gathered": "os.pwritev(f.fileno(), [b'n', b'ew'], 0); os.fdatasync(f.fileno())",
    "cut off": "os.ftruncate(f.fileno(), 1)",
    "cut off and synced": "os.ftruncate(f.fileno(), 1); os.fsync(f.fileno())",
    "mapped": "mmap.mmap(f.fileno(), 3)[:] = b'new'",
    "mapped and synced": "mmap.mmap(f.fileno(), 3)[:] = b'new'; os.fsync(f.fileno())",
    "renamed": "os.rename(f.name, f.name + ' away')",
    "removed": "os.unlink(f.name)",
    "removed and its folder synced": "os.unlink(f.name); os.fsync(os.open('.', os.O_RDONLY))",
    "replaced": "put(f.name + ' part', b'new'); os.rename(f.name + ' part', f.name)",
    "replaced and its folder synced": (
        "put(f.name + ' part', b'new'); os.rename(f.name + ' part', f.name);"
        "os.fsync(os.open('.', os.O_RDONLY))"
    ),
    "replaced by a file that is on no disk": (
        "open('part', 'wb').write(b'new'); os.rename('part', f.name);"
        "os.fsync(os.open('.', os.O_RDONLY))"
    ),
    "a new file beside it": "open('other', 'wb').write(b'new')",
    "a new file beside it, synced": "put('other', b'new')",
    "a new file in a new folder, synced": "os.mkdir('sub'); put('sub/other', b'new')",
    "its number used again": "os.unlink(f.name); f.close(); put('other', b'new')",
}
LEFT: Final[dict[str, dict[str, bytes]]] = {
    "written and synced": {"file": b"new"},
    "gathered": {"file": b"new"},
    "cut off and synced": {"file": b"o"},
    "mapped and synced": {"file": b"new"},
    "removed and its folder synced": {},
    "replaced": {"file": b"old", "file part": b"new"},
    "replaced and its folder synced": {"file": b"new"},
    "replaced by a file that is on no disk": {"file": b""},
    "a new file beside it, synced": {"file": b"old", "other": b"new"},
    "a new file in a new folder, synced": {"file": b"old", "sub/other": b"new"},
    "its number used again": {"file": b"old", "other": b"new"},
}
"""What the cut leaves; elsewhere the old file."""
PROGRAM: Final = """
import mmap, os, sys

def put(name, data):
    with open(name, 'wb') as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())

for name in sys.argv[1:]:
    os.chdir(name)
    with open('file', 'rb+') as f:
        exec(open('../../' + os.path.basename(name)).read())
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """A folder for each of the steps, after the power cut."""
    top = tmp_path_factory.mktemp("power")
    disk = Disk(top)
    for number, step in enumerate(STEPS.values()):
        folder = disk.files / str(number)
        folder.mkdir()
        (folder / "file").write_bytes(b"old")
        (top / str(number)).write_text(step)
    disk.settle()
    folders = [str(disk.files / str(number)) for number in range(len(STEPS))]
    program = [sys.executable, "-c", PROGRAM, *folders]
    assert subprocess.run(program, env=disk.environment, check=False).returncode == -9
    disk.cut(_Nothing())
    return disk


class _Nothing(random.Random):
    """Chance has nothing written that was not synced."""

    def random(self) -> float:
        return 0.9


@pytest.mark.parametrize("name", STEPS)
def test_a_power_cut_leaves_what_was_synced(name: str, disk: Disk) -> None:
    folder = disk.files / str(list(STEPS).index(name))
    left = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert left == LEFT.get(name, {"file": b"old"})


def test_a_cut_that_leaves_some_pages_leaves_no_others(tmp_path: Path) -> None:
    disk, chance = Disk(tmp_path), random.Random(1)
    path = disk.files / "file"
    seen = set()
    for _ in range(20):
        path.write_bytes(b"a" * 8192)
        disk.settle()
        path.write_bytes(b"b" * 12288)
        disk.cut(chance)
        seen.add(path.read_bytes())
    pages = {data[at : at + 4096][:1] for data in seen for at in range(0, len(data), 4096)}
    assert pages == {b"a", b"b", b"\0"}
    assert {len(data) for data in seen} == {8192, 12288}
    assert b"a" * 8192 in seen
