"""Writes a telemetry record in the many forms in which it reaches the coach."""

import random
from collections.abc import Callable
from typing import Final

from training.coach.corpus import data, grammar
from training.coach.corpus.records import Record

Pair = tuple[str, str, str]  # name, number or text, unit


def _name(field: str, rng: random.Random) -> str:
    names = data.texts("telemetry", "keys", field)
    return names[0] if rng.random() < 0.45 else rng.choice(names)


def _unit(field: str, rng: random.Random) -> str:
    units = data.section("telemetry", "units")
    unit = str(units.get(field, ""))
    return rng.choice(("km/h", "km/h", "km/h", "kmh", "kph")) if unit == "km/h" else unit


def _pairs(record: Record, rng: random.Random) -> list[Pair]:
    return [(_name(field, rng), text, _unit(field, rng)) for field, text in record.fields.items()]


def _snake(name: str) -> str:
    return name.replace(" ", "_")


def _camel(name: str) -> str:
    """brake pressure → brakePressure."""
    head, *rest = name.replace("_", " ").split()
    return head + "".join(word.capitalize() for word in rest)


def _case(name: str, rng: random.Random) -> str:
    return name[:1].upper() + name[1:] if rng.random() < 0.3 else name


def _add_unit(text: str, unit: str, gap: str) -> str:
    return f"{text}{gap}{unit}" if unit else text


def _write_list(record: Record, rng: random.Random) -> str:
    """Turn 7: entry 142 km/h, apex 88 km/h."""
    gap = rng.choice((" ", " ", " ", ""))
    join = rng.choice((" ", " ", " ", ": ", " = ", " at "))
    bare = rng.random() < 0.2
    parts = [
        f"{_case(name, rng)}{join}{_add_unit(text, '' if bare else unit, gap)}"
        for name, text, unit in _pairs(record, rng)
    ]
    body = rng.choice((", ", ", ", ", ", "; ", " / ", " | ", " ")).join(parts)
    if not record.label:
        return body
    side = rng.random()
    if side < 0.75:
        return record.label + rng.choice((": ", ": ", ": ", " - ", ", ", " ", " | ")) + body
    if side < 0.9:
        return f"{_case(_name('corner', rng), rng)}{join}{record.label}, {body}"
    return f"{body}, {rng.choice(('corner ', 'at ', 'in ', 'where: '))}{record.label}"


def _write_assignments(record: Record, rng: random.Random) -> str:
    """corner=T7 entry_kmh=142."""
    parts = [f"{_snake(name)}={text}" for name, text, _ in _pairs(record, rng)]
    if record.label:
        parts.insert(0, f"{_snake(_name('corner', rng))}={record.label}")
    return rng.choice((" ", " ", ", ", ",", "; ", ";", "&", "\n")).join(parts)


def _json(record: Record, rng: random.Random) -> str:
    """{"corner": "T7", "entry_kmh": 142}."""
    key = _camel if rng.random() < 0.25 else _snake
    quote = '"' if rng.random() < 0.85 else "'"
    gap = rng.choice((" ", " ", ""))
    parts = [
        f"{quote}{key(name)}{quote}:{gap}{text.removeprefix('+')}"
        for name, text, _ in _pairs(record, rng)
    ]
    if record.label:
        name = _snake(_name("corner", rng))
        parts.insert(0, f"{quote}{name}{quote}:{gap}{quote}{record.label}{quote}")
    return "{" + f",{gap}".join(parts) + "}"


def _lines(record: Record, rng: random.Random) -> str:
    """One field a line."""
    dash = rng.choice(("", "", "- ", "* "))
    join = rng.choice((": ", ": ", " = ", " "))
    parts = [
        f"{dash}{_case(name, rng)}{join}{_add_unit(text, unit, ' ')}"
        for name, text, unit in _pairs(record, rng)
    ]
    if record.label:
        label = rng.choice(
            (
                f"{dash}{_case(_name('corner', rng), rng)}{join}{record.label}",
                record.label,
                f"{record.label}:",
            )
        )
        parts.insert(0, label)
    return "\n".join(parts)


def _prose(record: Record, rng: random.Random) -> str:
    """At turn 7 I came in at 142 km/h, the apex was 88 km/h."""
    parts = []
    for field, text in record.fields.items():
        sentence = grammar.expand(rng.choice(data.texts("telemetry", "prose", field)), rng)
        parts.append(grammar.fill(sentence, {field: text}))
    last = parts.pop()
    joined = ", ".join(parts)
    body = f"{joined}{rng.choice((' and ', ', '))}{last}" if parts else last
    if not record.label:
        return body
    form = rng.choice(("{p} {c} {b}", "{p} {c}, {b}", "{c}: {b}", "{b} {p} {c}", "{b}, {c}"))
    place = rng.choice(("in", "at", "At", "In", "through"))
    return form.format(p=place, c=record.label, b=body)


def _columns(record: Record, rng: random.Random) -> str:
    """A head line and a line of numbers."""
    names = [_snake(name) for name, _, _ in _pairs(record, rng)]
    numbers = list(record.fields.values())
    if record.label:
        names.insert(0, _snake(_name("corner", rng)))
        numbers.insert(0, record.label)
    comma = rng.choice((",", ";", ", ", "\t"))
    return comma.join(names) + "\n" + comma.join(numbers)


FORMS: Final[dict[Callable[[Record, random.Random], str], int]] = {
    _write_list: 9,
    _write_assignments: 4,
    _json: 3,
    _lines: 3,
    _prose: 5,
    _columns: 1,
}


def _add_concept(text: str, concept: str, rng: random.Random) -> str:
    """The record with the concept that the coach fired for it."""
    name = rng.choice(data.texts("telemetry", "keys", "concept"))
    written = concept if rng.random() < 0.7 else concept.replace("_", " ")
    join = rng.choice((": ", ": ", "=", " "))
    head = f"{_case(name, rng)}{join}{written}"
    glue = rng.choice((". ", "; ", ", ", "\n", " | "))
    return f"{head}{glue}{text}" if rng.random() < 0.8 else f"{text}{glue}{head}"


def write(record: Record, rng: random.Random, concept: str = "") -> str:
    """The record as a question, with or without words around it."""
    text = rng.choices(list(FORMS), list(FORMS.values()))[0](record, rng)
    if concept:
        text = _add_concept(text, concept, rng)
    side = rng.random()
    if side < 0.2:
        before = grammar.expand(rng.choice(data.texts("telemetry", "ask", "before")), rng)
        text = before + rng.choice((": ", ": ", ":\n", ". ", "\n")) + text
    elif side < 0.55:
        key = rng.choice(("behind", "behind", "brief"))
        behind = grammar.expand(rng.choice(data.texts("telemetry", "ask", key)), rng)
        text = text + rng.choice((". ", ". ", "\n", " - ", ", ", " ")) + behind
    elif side < 0.75:
        text += "."
    if rng.random() < 0.1:
        text = grammar.tidy(text) if "\n" not in text else text
    return text
