"""How often the tests that repeat something at random repeat it."""

import os
from typing import Final

EFFORT: Final = float(os.environ.get("PADDOCK_TEST_EFFORT", "1"))
"""``PADDOCK_TEST_EFFORT=10``, as `make test-full` sets: ten times as many kills, edits and made-up
requests, and ten times the limits on their time."""


def repeats(count: int) -> int:
    """So many repetitions in a normal run, at least one."""
    return max(1, round(count * EFFORT))
