"""Programs that compute all the time, for figures of a machine that is shared."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

BUSY: Final = "while True: pass"


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """*count* busy processes, of ordinary priority, for as long as the block runs."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
        for one in running:
            one.wait()
