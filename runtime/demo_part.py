"""Becomes a part of the demo, which Linux ends with the demo, however that ends."""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

PR_SET_PDEATHSIG: Final = 1
TERMINATED: Final = 128 + signal.SIGTERM


def main(argv: Sequence[str]) -> NoReturn:
    """Ask for SIGTERM at the end of the process *argv[0]*, then become Python with the rest.

    Systems other than Linux have no such signal: there a demo that is killed leaves its parts.
    """
    if sys.platform == "linux":
        # It outlives what follows, since it belongs to the process and not to the program.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(argv[0]):  # ended before it was asked
        sys.exit(TERMINATED)
    os.execv(sys.executable, [sys.executable, *argv[1:]])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
