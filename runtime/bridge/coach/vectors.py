"""Keeps the vectors of the example sentences beside the database: they take minutes to make."""

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from runtime.bridge.session.recording import Numbers

log = logging.getLogger(__name__)


def vectors_file(database: Path) -> Path:
    """Where the vectors lie; the file may be deleted, they are made again."""
    return database.with_name(f"{database.name}.examples.npz")


def read_vectors(path: Path, model: str, texts: Sequence[str]) -> Numbers | None:
    """The vectors that *model* made of these *texts*, in rows; None where the file has others."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != _key(model, texts):
                return None
            vectors: Numbers = kept["vectors"].astype(np.float64)
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return vectors if len(vectors) == len(texts) else None


def write_vectors(path: Path, model: str, texts: Sequence[str], vectors: Numbers) -> None:
    """Keep them; where that fails, they are made again the next time."""
    part = path.with_name(f"{path.name}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            np.savez(file, key=_key(model, texts), vectors=vectors.astype(np.float16))
        part.replace(path)
    except OSError as problem:
        log.warning("the vectors of the examples are not kept: %s", type(problem).__name__)


def _key(model: str, texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([model, *texts]).encode()).hexdigest()
