"""Where columns lie that are too many for memory: what a reader asks of whoever has room."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias, TypeVar

from runtime.bridge.session.recording import Numbers, Samples

V = TypeVar("V", covariant=True)
Opening: TypeAlias = Callable[[], V]


class Shelf(Protocol):
    """Keeps numbers outside of memory."""

    def reserve(self, count: int) -> int:
        """Room for so many numbers, none of which costs anything yet; the place of the first."""

    def write(self, place: int, values: Numbers) -> None:
        """Put numbers at a place that was reserved."""

    def view(self, place: int, count: int) -> Numbers:
        """What was written there, to be read only, for as long as it is referred to."""

    def again(self, values: Numbers) -> Opening[Numbers] | None:
        """Makes a view like *values* whenever it is called; None where that is none."""

    def rest(self) -> None:
        """Give back the memory that views took when they were looked at."""


class Opened(Mapping[str, V]):
    """Values by name that are opened each time, and go when nobody looks at them any more."""

    def __init__(self, openings: Mapping[str, Opening[V]]) -> None:
        self._openings = openings

    def __getitem__(self, name: str) -> V:
        return self._openings[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._openings)

    def __len__(self) -> int:
        return len(self._openings)


class Keeper:
    """Moves columns to a shelf, or leaves them where they are if there is none."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf

    def __call__(self, values: Numbers) -> Numbers:
        """The same values; new ones no longer lie in memory."""
        if self._shelf is None:
            return values
        if values.flags.writeable:
            place = self._shelf.reserve(len(values))
            self._shelf.write(place, values)
            values = self._shelf.view(place, len(values))
        self._shelf.rest()
        return values

    def columns(self, columns: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
        """The same; those on the shelf take memory only while somebody looks at them."""
        if self._shelf is None:
            return columns
        return Opened({name: self._opening(values) for name, values in columns.items()})

    def signals(self, signals: Mapping[str, Samples]) -> Mapping[str, Samples]:
        """As `columns` does."""
        if self._shelf is None:
            return signals
        return Opened({name: self._sampling(*both) for name, both in signals.items()})

    def _opening(self, values: Numbers) -> Opening[Numbers]:
        return (self._shelf and self._shelf.again(values)) or (lambda: values)

    def _sampling(self, t: Numbers, value: Numbers) -> Opening[Samples]:
        times, values = self._opening(t), self._opening(value)
        return lambda: Samples(times(), values())


AS_THEY_ARE = Keeper()
