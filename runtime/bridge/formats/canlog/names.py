"""Guesses which signal a channel is, from name, unit and function, where no car file says."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from runtime.bridge.formats.canlog.synonyms import COLUMNS, KINDS, SIGNALS, Known
from runtime.bridge.formats.vbo import units
from runtime.bridge.formats.vbo.columns import LAT, LON, key_of
from runtime.bridge.formats.vbo.units import SAME, Scale, scale_of
from runtime.bridge.session.recording import Numbers, Samples

DEAD_S: Final = 60.0
"""A sensor whose value has stood for so long, while the car moved, is none."""
_SHOWN: Final = 4
_LOOKED_AT: Final = 512
_SPEED: Final = "speed_ms"
_DRIVING_MS: Final = 5.0
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "lat": ("gps_latitude", "gps_lat", *LAT),
    "lon": ("gps_longitude", "gps_lon", "gps_long", *LON),
}
"""In degrees; a channel in another unit is not taken."""


class Told(NamedTuple):
    """What is known of a channel."""

    unit: str = ""
    function: str = ""
    """What the logger says that it is for."""
    dead: bool = False
    """It never changed in a minute or more."""
    levels: int = 0
    """How many different values it has, roughly: the finer channel is the better one."""
    most: float = 0.0
    """The largest value of some hundreds."""
    name: str = ""
    """As the file has it, where it is kept under another one."""


class Guess(NamedTuple):
    """A channel that fills a column of the frames, or is a signal of the catalog."""

    column: str
    channel: str
    scale: Scale
    others: tuple[str, ...] = ()
    """Channels that might have been it too."""
    dead: tuple[str, ...] = ()
    """Such channels that never change."""

    def __str__(self) -> str:
        how = "" if self.scale == SAME else f" times {self.scale.factor:.6g}"
        return f"{self.column} from {self.channel}{how}"

    @property
    def choice(self) -> str:
        """In words why this one; empty where there was no other."""
        parts = []
        if self.others:
            parts.append(f"rather than {_listed(self.others)}")
        if self.dead:
            parts.append(f"never changing: {_listed(self.dead)}")
        return f"{self.column}: {self.channel or 'none'} ({'; '.join(parts)})" if parts else ""


class Guessed(NamedTuple):
    """What the channels of a recording are."""

    columns: tuple[Guess, ...]
    signals: tuple[Guess, ...]
    refused: tuple[Guess, ...]
    """Columns for which there are dead channels alone; they have no channel."""

    @property
    def dead(self) -> tuple[str, ...]:
        """Channels that never change and therefore fill no column."""
        both = (*self.columns, *self.refused)
        found = (name for one in both for name in one.dead if name != one.channel)
        return tuple(dict.fromkeys(found))

    def without(self, columns: Collection[str], named: Collection[str]) -> "Guessed":
        """The same without those of *columns* that the log itself has in *named*."""
        there = {column for column in columns if column in named}
        kept = ([one for one in part if one.column not in there] for part in self)
        return Guessed(*map(tuple, kept))

    def facts(self) -> dict[str, str]:
        """In words, for whoever imports the file."""
        told = {"columns": ", ".join(map(str, self.columns)) or "none"}
        if self.signals:
            told["signals"] = ", ".join(map(str, self.signals))
        choices = [one.choice for one in (*self.columns, *self.refused) if one.choice]
        return {**told, "choices": "; ".join(choices)} if choices else told


def told(samples: Samples, unit: str = "", function: str = "") -> Told:
    """What is to be known of a channel; *samples* by time."""
    t, value = samples
    few = value[:: max(1, len(value) // _LOOKED_AT)].tolist()
    levels = len(set(few))
    dead = levels == 1 and bool(t[-1] - t[0] >= DEAD_S) and bool((value == value[0]).all())
    return Told(unit, function, dead, levels, max(few, default=0.0))


def guess(channels: Mapping[str, Told]) -> Guessed:
    """The best channel for each signal; names count more than functions, earlier names more.

    A dead channel is the last choice, and none where the speed shows that the car moved.
    """
    index = _indexed(channels)
    columns = [
        one for name, known in COLUMNS.items() if (one := _best(name, known, channels, index))
    ]
    speed = next((one for one in columns if one.column == _SPEED), None)
    moved = speed is not None and speed.scale.factor * channels[speed.channel].most > _DRIVING_MS
    signals = [
        one
        for name, known in SIGNALS.items()
        if name not in channels and (one := _best(name, known, channels, index))
    ]
    kept, refused = _parted(columns, moved=moved)
    living, _ = _parted(signals, moved=moved)
    return Guessed((*kept, *_places(channels, index.first)), tuple(living), refused)


class _Index(NamedTuple):
    first: Mapping[str, str]
    """The first channel of each name, in the form of `key_of`."""
    by_function: Mapping[str, list[str]]


def _indexed(channels: Mapping[str, Told]) -> _Index:
    first: dict[str, str] = {}
    by_function: dict[str, list[str]] = {}
    for name, about in channels.items():
        first.setdefault(key_of(about.name or name), name)
        if about.function:
            by_function.setdefault(key_of(about.function), []).append(name)
    return _Index(first, by_function)


def _best(column: str, known: Known, channels: Mapping[str, Told], index: _Index) -> Guess | None:
    first, by_function = index
    names = [first[key] for key in known.names if key in first]
    names += [name for function in known.functions for name in by_function.get(function, ())]
    found: list[tuple[bool, int, int, str]] = []
    for rank, name in enumerate(dict.fromkeys(names)):
        one = channels[name]
        named = key_of(one.name or name) in known.names
        if _fits(one.unit, known.units):
            found.append((one.dead, rank if named else len(names), -one.levels, name))
    if not found:
        return None
    found.sort(key=lambda row: row[:3])  # equals stay in the order of the file
    name = found[0][3]
    scale = _scale(column, name, channels[name].unit, known.units)
    others = tuple(row[3] for row in found[1:] if not row[0])
    return Guess(column, name, scale, others, tuple(row[3] for row in found if row[0]))


def _parted(found: Iterable[Guess], *, moved: bool) -> tuple[list[Guess], tuple[Guess, ...]]:
    """Those with a channel that lives, and those with dead ones alone, without these."""
    kept: list[Guess] = []
    refused: list[Guess] = []
    for one in found:
        if moved and one.channel in one.dead:
            refused.append(one._replace(channel=""))
        else:
            kept.append(one)
    return kept, tuple(refused)


def _places(channels: Mapping[str, Told], first: Mapping[str, str]) -> Iterator[Guess]:
    for column, keys in _PLACES.items():
        for key in keys:
            if key in first and channels[first[key]].unit.strip().lower() in ("", *units.ANGLE):
                yield Guess(column, first[key], SAME)
                break


def _fits(unit: str, known: Mapping[str, Scale]) -> bool:
    """Whether a unit is one of these, or one that nobody knows."""
    plain = unit.strip().strip("[]()").lower()
    return not plain or plain in known or not any(plain in kind for kind in KINDS)


def _scale(column: str, name: str, unit: str, known: Mapping[str, Scale]) -> Scale:
    default = SAME
    if column == _SPEED and not unit:
        default = Scale(1 / 3.6) if not name.lower().endswith("_ms") else SAME
    return scale_of(known, unit, name, default=default)


def applied(one: Guess, samples: Samples) -> Samples:
    """The samples of a channel in the unit of its column."""
    values: Numbers = one.scale(samples.value)
    return Samples(samples.t, values)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
