"""The programs whose tables are known, and what their headers leave open.

A table of any other program is read by the same reader; an entry here only gives it a name, and
says what no table of names can know.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Program(NamedTuple):
    """A program that exports tables."""

    name: str
    opening: str = ""
    """A part of the lines before the table, in lower case; empty: the columns decide."""
    columns: frozenset[str] = frozenset()
    """Columns that no other program has together, as `normalise_name` writes them."""
    channels: Mapping[str, str] = {}
    """Columns by signal where their names could be anything, or say what is no such signal."""
    long: tuple[str, str, str] | None = None
    """One reading a row: the columns of its name, its value and its unit."""


def _columns(words: str) -> frozenset[str]:
    return frozenset(words.split())


PROGRAMS: Final = (
    Program("racechrono", "created using racechrono"),
    Program("aim_race_studio", "aim csv file"),
    Program("motec_i2", "motec csv file"),
    Program(
        "trackaddict",
        "racerender data",
        channels={"g_lat": "Accel X", "g_long": "Accel Y", "brake_position_pct": "none"},
    ),
    Program("harrys_laptimer", columns=_columns("index lapindex date time latitude heightm")),
    Program("harrys_laptimer", "laptimer", _columns("index date time latitude")),
    Program("racebox", columns=_columns("record time latitude gforcex gforcez lap")),
    Program(
        "racebox",
        columns=_columns("record time latitude kph x y z lap"),
        channels={"speed_ms": "KPH:km/h", "g_long": "X", "g_lat": "Y"},
    ),
    Program(
        "racebox",
        columns=_columns("record time latitude mph x y z lap"),
        channels={"speed_ms": "MPH:mph", "g_long": "X", "g_lat": "Y"},
    ),
    Program("racebox", "format,racebox"),
    Program("torque", columns=_columns("gpstime devicetime")),
    Program(
        "car_scanner",
        columns=_columns("seconds pid value units"),
        long=("PID", "VALUE", "UNITS"),
    ),
    Program("obd_fusion", "# starttime"),
    Program("racecapture", columns=_columns("interval utc latitude longitude")),
    Program("vbox", columns=_columns("satellites time latitude longitude velocity heading")),
)
"""The first entry that fits counts."""


def find_program(opening: str, keys: frozenset[str]) -> Program | None:
    """The program of a table by the lines before it and its columns; None: an unknown one."""
    opening = opening.lower()
    return next(
        (
            program
            for program in PROGRAMS
            if (program.opening or program.columns)
            and program.opening in opening
            and program.columns <= keys
        ),
        None,
    )
