"""One server a data directory."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from runtime.web.instance import LOCK_NAME, AlreadyRunning, address_of, claim, write_address

HOLDER = """
import sys
from pathlib import Path
from runtime.web.instance import claim
lock = claim(Path(sys.argv[1]), "data_dir")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_claim_names_the_setting_and_a_closed_one_is_free_again(tmp_path: Path) -> None:
    first = claim(tmp_path / "new" / "data", "data_dir")
    with pytest.raises(AlreadyRunning, match="data_dir"):
        claim(tmp_path / "new" / "data", "data_dir")
    first.close()

    with claim(tmp_path / "new" / "data", "data_dir"):
        written = (tmp_path / "new" / "data" / LOCK_NAME).read_text(encoding="ascii")
    assert written == f"{os.getpid()}\n"


def test_a_killed_holder_leaves_no_lock_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(AlreadyRunning):
            claim(tmp_path, "data_dir")
        holder.kill()
    claim(tmp_path, "data_dir").close()


def test_a_lock_of_windows_is_one_byte_for_all_and_none_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: set[int] = set()

    def locking(descriptor: int, mode: str, count: int) -> None:
        assert (mode, count) == ("without waiting", 1)
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        if at in locked:
            raise PermissionError
        locked.add(at)

    msvcrt = SimpleNamespace(locking=locking, LK_NBLCK="without waiting")
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    with claim(tmp_path, "data_dir") as first:
        write_address(first, "http://127.0.0.1:8080")
        with pytest.raises(AlreadyRunning):
            claim(tmp_path, "data_dir")
        assert address_of(tmp_path) == "http://127.0.0.1:8080"
    assert min(locked) > (tmp_path / LOCK_NAME).stat().st_size
