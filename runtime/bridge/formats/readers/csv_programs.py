"""The programs whose CSV exports are recognized, with columns that their names do not explain.

Tables of other programs are read the same way; an entry adds the name of the program and signals
that the general table of names cannot find.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Program(NamedTuple):
    """A program that exports tables."""

    name: str
    opening: str = ""
    """Text in the lines before the table, in lower case; empty: the columns decide."""
    columns: frozenset[str] = frozenset()
    """Columns that identify the program, as `normalise_name` writes them."""
    channels: Mapping[str, str] = {}
    """Columns by signal where names are ambiguous or misleading."""
    long: tuple[str, str, str] | None = None
    """With one reading per row: the columns of its name, value and unit."""


def _split(words: str) -> frozenset[str]:
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
    Program("harrys_laptimer", columns=_split("index lapindex date time latitude heightm")),
    Program("harrys_laptimer", "laptimer", _split("index date time latitude")),
    Program("racebox", columns=_split("record time latitude gforcex gforcez lap")),
    Program(
        "racebox",
        columns=_split("record time latitude kph x y z lap"),
        channels={"speed_ms": "KPH:km/h", "g_long": "X", "g_lat": "Y"},
    ),
    Program(
        "racebox",
        columns=_split("record time latitude mph x y z lap"),
        channels={"speed_ms": "MPH:mph", "g_long": "X", "g_lat": "Y"},
    ),
    Program("racebox", "format,racebox"),
    Program("torque", columns=_split("gpstime devicetime")),
    Program(
        "car_scanner", columns=_split("seconds pid value units"), long=("PID", "VALUE", "UNITS")
    ),
    Program("obd_fusion", "# starttime"),
    Program("racecapture", columns=_split("interval utc latitude longitude")),
    Program("vbox", columns=_split("satellites time latitude longitude velocity heading")),
)
"""The first matching entry counts."""


def find_program(opening: str, keys: frozenset[str]) -> Program | None:
    """Find the program of a table by the lines before it and its columns."""
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
