"""Starts a program of the project as if this were a system without POSIX: `unposix.py MODULE …`.

Its modules cannot be imported and its functions are gone. Only how the socket comes is the system's
own, since that cannot be made up.
"""

import os
import runpy
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

import psutil  # noqa: F401 - before: its part for this system needs what is hidden

MODULES: Final = ("resource", "fcntl", "termios", "pwd", "grp", "pty")
OF_OS: Final = ("nice", "sched_getaffinity", "killpg", "getuid", "fchmod", "statvfs")
OF_SIGNAL: Final = ("SIGALRM", "SIGKILL", "SIGPIPE", "SIGHUP", "ITIMER_REAL", "setitimer", "alarm")


class Hidden:
    """Finds none of the modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in MODULES:
            raise ImportError(f"No module named {name!r}")
        return None


def hide() -> None:
    """Take away what Windows does not have."""
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Hidden())
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            vars(module).pop(name, None)


if __name__ == "__main__":
    hide()
    module, sys.argv = sys.argv[1], sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
