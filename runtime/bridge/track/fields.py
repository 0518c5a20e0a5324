"""Takes values out of parsed JSON by name, or says at which place what is wrong."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

from runtime.bridge.track.model import TrackError

T = TypeVar("T")
C = TypeVar("C", bound=str)

LARGEST_TEXT: Final = 16 * 1024 * 1024
LONGEST_STRING: Final = 4000


class FieldError(ValueError):
    """A value is missing or cannot be; the text names its place."""


class Fields:
    """One JSON object and the place in the file where it stands."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, Mapping):
            raise FieldError(f"{place}: not an object")
        self.values: Mapping[str, object] = value
        self.place = place

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def wrong(self, name: str, what: str) -> FieldError:
        """What is wrong with a field, to be raised."""
        return FieldError(f"{self.place_of(name)}: {what}")

    def place_of(self, name: str) -> str:
        """Where in the file a field stands."""
        return f"{self.place}.{name}" if self.place else name

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number from *low* to *high*."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number is needed")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or not low <= number <= high:
            raise self.wrong(name, f"must be from {low:g} to {high:g}")
        return number

    def optional_number(
        self, name: str, low: float = -math.inf, high: float = math.inf
    ) -> float | None:
        """A number, or None where it is absent or null."""
        return self.number(name, low, high) if name in self else None

    def integer(self, name: str, low: int, high: int) -> int:
        """A whole number."""
        number = self.number(name, low, high)
        if number != int(number):
            raise self.wrong(name, "a whole number is needed")
        return int(number)

    def text(self, name: str, default: str | None = None) -> str:
        """A string; *default* where it is absent, which None forbids."""
        if name not in self and default is not None:
            return default
        value = self.values.get(name)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(name, "a text is needed")
        if len(value) > LONGEST_STRING:
            raise self.wrong(name, "the text is too long")
        return value

    def one_of(self, name: str, *choices: C) -> C:
        """One of some words, in any case."""
        word = self.text(name).casefold()
        for choice in choices:
            if word == choice:
                return choice
        raise self.wrong(name, f"one of {', '.join(choices)} is needed")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; empty where it is absent."""
        found = self.items(name)
        if not all(isinstance(item, str) and len(item) <= LONGEST_STRING for item in found):
            raise self.wrong(name, "a list of texts is needed")
        return tuple(str(item) for item in found)

    def items(self, name: str) -> list[object]:
        """A list; empty where it is absent."""
        if name not in self:
            return []
        value = self.values[name]
        if not isinstance(value, list):
            raise self.wrong(name, "a list is needed")
        return value

    def fields(self, name: str) -> "Fields":
        """An object inside this one."""
        return Fields(self.values.get(name), self.place_of(name))

    def objects(self, name: str) -> list["Fields"]:
        """The objects of a list."""
        return [
            Fields(item, self.place_of(f"{name}[{i}]")) for i, item in enumerate(self.items(name))
        ]

    def build_each(
        self, name: str, build: Callable[["Fields"], T], complaints: list[str]
    ) -> list[T]:
        """What *build* makes of each object of a list; what it refuses is left out and said."""
        made: list[T] = []
        try:
            items = self.items(name)
        except FieldError as error:
            complaints.append(str(error))
            return made
        for i, item in enumerate(items):
            try:
                made.append(build(Fields(item, self.place_of(f"{name}[{i}]"))))
            except FieldError as error:
                complaints.append(str(error))
        return made


def json_object(text: str) -> Fields:
    """The object that a JSON text holds; raises `TrackError` with line and column."""
    if len(text) > LARGEST_TEXT:
        raise TrackError("the file is larger than 16 MiB")
    try:
        return Fields(json.loads(text, parse_constant=_no_constant), "")
    except json.JSONDecodeError as error:
        raise TrackError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise TrackError("the file is nested too deeply") from None
    except FieldError:
        raise TrackError("the file holds no JSON object") from None
    except ValueError as error:
        raise TrackError(str(error)) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
