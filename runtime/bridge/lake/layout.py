"""Where the files of a session lie in a lake, and what tells whether they are as it is now.

The files of one session lie in one folder, named after season, car and session as Hive does, so
that DuckDB, Spark and pandas read many sessions as one table and leave out what is not asked for.
"""

import hashlib
import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from runtime.bridge.derived.lapbook import METHOD
from runtime.bridge.storage.values import SessionRow

TABLES: Final = ("telemetry", "signals", "laps", "session")
"""The last one is written last: a folder that has it is whole."""
LAYOUT: Final = 2
"""Raised when columns change: what is there is written anew."""
UNNAMED: Final = "unnamed"
LONGEST: Final = 200
"""Characters of a name in a folder's; file systems take 255 bytes with what stands around it."""
STAMP: Final = b"stamp"
"""Under which the files' metadata tell what they were made of."""
CUT: Final = b"cut"
"""Under which those of `laps` tell where and how the session was cut into laps."""


def folder_of(row: SessionRow) -> str:
    """Where the files of a session lie in the lake: ``season=2026/car=c03/session=monday``."""
    season = datetime.fromtimestamp(row.started_at / 1000, UTC).year
    return f"season={season}/car={_escaped(row.car or UNNAMED)}/session={_escaped(row.session_id)}"


def stamp_of(row: SessionRow, circuits: str) -> str:
    """Tells whether files are of the session as it is now; *circuits*: digest of the circuits."""
    facts = {name: value for name, value in asdict(row).items() if name != "key"}
    made_of = (LAYOUT, METHOD, circuits, sorted(facts.items(), key=str))
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


def _escaped(value: str) -> str:
    """As a part of a path, with nothing in it that a folder's name may not have.

    A name that is too long is cut, and a digest of the whole tells it from others.
    """
    part = quote(value, safe=" ") if value.strip(".") else value.replace(".", "%2E")
    if len(part) <= LONGEST:
        return part
    kept = re.sub("%.?$", "", part[:LONGEST])  # no half of an escaped byte
    return f"{kept}~{hashlib.sha256(value.encode()).hexdigest()[:12]}"
