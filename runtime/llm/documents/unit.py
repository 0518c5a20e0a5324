"""What passes for a unit vector; without NumPy, for a query is only one."""

import struct
from typing import Final

from runtime.llm.documents.values import VECTOR_BYTES, WIDTH

LONGEST: Final = 1.001
"""Squared length at most, with room for what rounding does; shorter ones do no harm."""


def check_query(query: bytes) -> None:
    """Raises ValueError for anything but one unit vector."""
    if len(query) != VECTOR_BYTES:
        raise ValueError(f"a query is one vector of {VECTOR_BYTES} bytes")
    if not sum(x * x for x in struct.unpack(f"<{WIDTH}f", query)) <= LONGEST:
        raise ValueError("a query must have unit length")
