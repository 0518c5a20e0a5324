"""The words of one language: messages from Fluent files, filled with the values of a fact."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal

import babel
from babel.lists import format_list
from fluent.runtime import FluentBundle, FluentResource
from fluent.runtime.types import FluentType
from fluent.syntax.ast import Message, Resource, TextElement

from runtime.bridge.coach.fact import Cell, Corner, Fact, Placed, Term, Value
from runtime.bridge.coach.need import Language, Units
from runtime.bridge.coach.wording.units import Quantity, say_value

MESSAGES: Final = Path(__file__).parent / "messages"
_LOCALES: Final = {"en": "en_GB"}
_NUMBERED: Final = re.compile(r"(?:Turn |T|C)(\d{1,3}[A-Za-z]?)\Z")
_SECTOR: Final = re.compile(r"Sector (\d{1,2})\Z")


class UnknownMessage(LookupError):
    """No message file has it, or the fact lacks a value it needs."""


class Words:
    """Words and sentences in one language and unit system; *speeds* may use another."""

    def __init__(
        self, language: Language = "en", units: Units = "metric", speeds: Units | None = None
    ) -> None:
        self.language: Language = language
        self._units, self._speeds = units, speeds or units
        self._bundle = _bundle(language)
        self._locale = babel.Locale.parse(_LOCALES.get(language, language))

    def sentence(self, fact: Fact) -> str:
        """Write a fact's sentence, the message of its kind. Raises `UnknownMessage`."""
        return _begin(self._verdict(fact) + self.text(fact.kind, fact.values))

    def say(self, fact: Fact) -> str:
        """Write the same for a voice: numbers and units in words. Raises `UnknownMessage`."""
        text = self._verdict(fact) + self.text(fact.kind, fact.values, spoken=True)
        return _begin(text.replace("±", f"{self.text('spoken-plus-minus')} "))

    def _verdict(self, fact: Fact) -> str:
        return self.text(f"verdict-{fact.verdict}") if fact.verdict else ""

    def text(self, message: str, values: Mapping[str, Cell] = {}, *, spoken: bool = False) -> str:
        """Fill a message with *values*. Raises `UnknownMessage`."""
        return self._format(message, {n: self._cell(v, spoken=spoken) for n, v in values.items()})

    def term(self, term: Term) -> str:
        """Return a word of the language. Raises `UnknownMessage`."""
        return self._format(f"{term.kind}-{term.key}", {})

    def write(self, cell: Cell) -> str:
        """Write a value as in a sentence."""
        return str(self._plain(cell, spoken=False))

    def has(self, message: str) -> bool:
        """Whether the message exists."""
        return self._bundle.has_message(message)

    def join(self, words: Iterable[str], *, style: Literal["standard", "or"] = "standard") -> str:
        """Join a list for a sentence: a, b and c; *style* ``or``: a, b or c."""
        return format_list(list(words), style=style, locale=self._locale)

    def corner(self, name: str) -> str:
        """Name a place in the language: Turn 4, Kurve 4, Sektor 2; a proper name stays."""
        if sector := _SECTOR.match(name):
            return self._format("sector-numbered", {"number": sector[1]})
        numbered = _NUMBERED.match(name)
        return self._format("corner-numbered", {"number": numbered[1]}) if numbered else name

    def _cell(self, cell: Cell, *, spoken: bool) -> str | int | FluentType:
        match cell:
            case Value() if cell.side:
                away = cell._replace(number=abs(cell.number), side="")
                return f"{self._plain(away, spoken=spoken)}{self.term(Term('side', cell.side))}"
            case Value() if spoken:
                return self._format(*say_value(cell, self._of(cell), self._locale))
            case Value():
                return Quantity(cell, self._of(cell))
            case Term():
                return self.term(cell)
            case Corner():
                return self.corner(cell.name)
            case Placed():
                place, value = (self._plain(part, spoken=spoken) for part in cell)
                return f"{place}, {value}" if spoken else f"{place} ({value})"
            case str() | int():
                return cell
            case _:
                parts = (self._plain(part, spoken=spoken) for part in cell)
                return self.join(str(part) for part in parts)

    def _of(self, value: Value) -> Units:
        return self._speeds if value.unit == "km/h" else self._units

    def _plain(self, cell: Cell, *, spoken: bool) -> str | int:
        shown = self._cell(cell, spoken=spoken)
        return shown.format(self._locale) if isinstance(shown, FluentType) else shown

    def _format(self, message: str, arguments: Mapping[str, object]) -> str:
        if not self._bundle.has_message(message):
            raise UnknownMessage(message)
        pattern = self._bundle.get_message(message).value
        if pattern is None:
            raise UnknownMessage(message)
        text, errors = self._bundle.format_pattern(pattern, dict(arguments))
        if errors:
            raise UnknownMessage(f"{message}: {errors[0]}")
        return str(text)


def _begin(text: str) -> str:
    """Capitalise the first letter of a sentence."""
    return text[:1].upper() + text[1:]


@cache
def words_of(language: Language, units: Units, speeds: Units | None = None) -> Words:
    """Return the words of a language, read once."""
    return Words(language, units, speeds)


@cache
def _bundle(language: Language) -> FluentBundle:
    functions: dict[str, Any] = {
        form.upper(): partial(_place, language, form) for form in ("the", "at", "of")
    }
    bundle = FluentBundle([_LOCALES.get(language, language)], functions, use_isolating=False)
    for resource in _resources(language):
        bundle.add_resource(resource)
    return bundle


@cache
def name_terms(language: Language) -> Mapping[str, str]:
    """Return the glossary terms with their names: the text before the colon of their messages."""
    begin = "glossary-"
    entries = [entry for resource in _resources(language) for entry in resource.body]
    names = {entry.id.name: entry.value for entry in entries if isinstance(entry, Message)}
    return {
        key.removeprefix(begin): str(value.elements[0].value).partition(":")[0]
        for key, value in names.items()
        if key.startswith(begin)
        and value is not None
        and isinstance(value.elements[0], TextElement)
    }


@cache
def _resources(language: Language) -> tuple[Resource, ...]:
    paths = sorted((MESSAGES / language).glob("*.ftl"))
    return tuple(FluentResource(path.read_text("utf-8")) for path in paths)


def _place(language: Language, form: str, places: str) -> str:
    """Place corners in a sentence, with an article and a preposition: the, at the, of the.

    The messages ``corner-the``, ``corner-at``, ``corner-of`` have the form of a numbered corner,
    ``place-at`` and ``place-of`` that of a name.
    """
    words = words_of(language, "metric")
    bare = words.text("corner-numbered", {"number": r"(\d{1,3}[A-Za-z]?)\b"})
    numbered = re.sub(bare, words.text(f"corner-{form}", {"number": r"\1"}), places)
    if numbered == places and words.has(f"place-{form}"):
        return words.text(f"place-{form}", {"name": places})
    return numbered
