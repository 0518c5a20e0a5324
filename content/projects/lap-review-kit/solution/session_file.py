"""Reads a VBO logger file into samples with SI units."""

from typing import NamedTuple

NEEDED = ("time", "lat", "long", "velocity")


class Sample(NamedTuple):
    """One row of the file; east and north are positive."""

    t_s: float
    lat_deg: float
    lon_deg: float
    speed_ms: float


class Session(NamedTuple):
    """The usable samples in time order, and how many rows were not usable."""

    samples: list[Sample]
    dropped: int


def sections(text: str) -> dict[str, list[str]]:
    """Lines of each section by its name; blank lines are left out."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1].lower()
            found[name] = []
        elif line and name:
            found[name].append(line)
    return found


def clock_s(text: str) -> float:
    """Seconds since midnight of a time written as hhmmss.ss."""
    whole, _, fraction = text.partition(".")
    whole = whole.rjust(6, "0")
    seconds = int(whole[:-4]) * 3600 + int(whole[-4:-2]) * 60 + int(whole[-2:])
    return seconds + float("0." + (fraction or "0"))


def sample(fields: dict[str, str]) -> Sample | None:
    """One sample in SI units, or None when the row holds no position."""
    try:
        satellites = int(fields.get("sats", "1")) & 63  # higher bits are flags
        values = [float(fields[name]) for name in NEEDED[1:]]
        t_s = clock_s(fields["time"])
    except (KeyError, ValueError):
        return None
    if satellites == 0:
        return None
    lat_minutes, west_minutes, speed_kmh = values
    return Sample(t_s, lat_minutes / 60, -west_minutes / 60, speed_kmh / 3.6)


def read_vbo(text: str) -> Session:
    """Read a whole file; raises ValueError when a needed column is missing."""
    parts = sections(text)
    names = " ".join(parts.get("column names", [])).split()
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise ValueError(f"no column {', '.join(missing)} in the file")
    samples: list[Sample] = []
    dropped = 0
    for line in parts.get("data", []):
        fields = line.split()
        one = sample(dict(zip(names, fields, strict=False)))
        late = one is not None and bool(samples) and one.t_s <= samples[-1].t_s
        if one is None or late or len(fields) < len(names):
            dropped += 1
        else:
            samples.append(one)
    return Session(samples, dropped)
