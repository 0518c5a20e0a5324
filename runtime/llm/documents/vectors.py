"""Vectors as arrays: how bytes become them, and the one way in which a score is made."""

from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.llm.documents.unit import LONGEST
from runtime.llm.documents.values import VECTOR_BYTES, WIDTH

Matrix = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]

_STORED: Final = np.dtype("<f4")
_AT_ONCE: Final = 4096


def matrix(data: bytes) -> Matrix:
    """The vectors in *data*, one a row; raises ValueError for bytes that are not whole vectors."""
    if len(data) % VECTOR_BYTES:
        raise ValueError(f"a vector has {VECTOR_BYTES} bytes")
    return np.frombuffer(data, _STORED).reshape(-1, WIDTH).astype(np.float32, copy=False)


def checked(data: bytes, count: int) -> Matrix:
    """*count* vectors whose inner products are cosines; raises ValueError for any others."""
    rows = matrix(data)
    if len(rows) != count:
        raise ValueError(f"{count} vectors were expected")
    lengths = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    if not np.all(lengths <= LONGEST):  # false for what is not a number, too
        raise ValueError("a vector must have unit length")
    return rows


def scores(rows: Matrix, query: Matrix) -> Scores:
    """Cosines of unit vectors with the query, -1 to 1.

    Summed row by row in double precision: equal vectors have equal scores wherever they stand,
    which a matrix product does not promise.
    """
    wide = query.astype(np.float64)
    parts = [(rows[at : at + _AT_ONCE] * wide).sum(axis=1) for at in range(0, len(rows), _AT_ONCE)]
    whole = np.concatenate(parts) if parts else np.zeros(0)
    return np.clip(whole, -1.0, 1.0).astype(np.float32)
