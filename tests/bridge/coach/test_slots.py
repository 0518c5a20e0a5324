"""What a question names: places, laps, drivers, amounts, and what it speaks of; four languages."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Final, get_args

import pytest

from runtime.bridge.coach.need import Language, Slots, Units
from runtime.bridge.coach.understanding.language import find_language
from runtime.bridge.coach.understanding.mentions import FOLDER
from runtime.bridge.coach.understanding.slots import (
    CornerNames,
    Names,
    find_units,
    mask_names,
    read_slots,
)
from tests.bridge.analysis.lapkit import TRACKS

LARKFELL: Final = TRACKS["larkfell"]
NAMES: Final = Names(
    tuple(CornerNames(c.name, c.number, c.nicknames, c.severity) for c in LARKFELL.corners),
    tuple(range(1, 10)),
    tuple(sector.name for sector in LARKFELL.sectors),
    tuple(straight.name for straight in LARKFELL.straights),
    "Ana",
    ("Ben",),
    longest="Harbour Straight",
)
UNNAMED: Final = Names(tuple(CornerNames(f"C{n}", n) for n in range(1, 6)), (1, 2, 3))

TABLE: Final = tuple(
    (language, slot, json.loads(expected), text)
    for line in Path(__file__).with_name("slots.tsv").read_text("utf-8").splitlines()
    for language, slot, expected, text in [line.split("\t")]
)
"""Language, slot (or `mask`: the text with its names masked), its value as JSON, text."""
UNITS: Final[tuple[tuple[str, Units | None, Units | None], ...]] = (
    ("top speed in mph please", None, "imperial"),
    ("in mph please none of that kilometre nonsense", None, "imperial"),
    ("how many feet before the corner", "imperial", None),
    ("en km/h por favor", None, "metric"),
    ("brake pressure in bar", "metric", None),
    ("my brake point for turn 4, imperial please", "imperial", None),
    ("what if I carried 3 mph more", None, None),
    ("what time does the bar open", None, None),
)
LANGUAGES: Final[tuple[tuple[str, Language | None, Language], ...]] = (
    ("where am I losing the most time", None, "en"),
    ("max Bremsdruck vor der Haarnadel, Runde für Runde", "en", "de"),
    ("Pourquoi son dernier tour est aussi lent ?", "de", "fr"),
    ("y eso donde lo pierde mas, frenando o saliendo?", "en", "es"),
    ("et Ben?", "fr", "fr"),
    ("ok", "de", "de"),
    ("T4?", "es", "es"),
    ("T4?", None, "en"),
    ("no motivation", None, "en"),
)


@pytest.mark.parametrize(("language", "slot", "expected", "text"), TABLE)
def test_a_slot_is_read(language: Language, slot: str, expected: object, text: str) -> None:
    slots = read_slots(text, language, NAMES)
    read = mask_names(text, language, NAMES) if slot == "mask" else getattr(slots, slot)
    amounts = [value[:2] for value in read] if slot in ("amounts", "strange") else read
    assert json.loads(json.dumps(amounts)) == expected


@pytest.mark.parametrize(("text", "units", "speeds"), UNITS)
def test_units_are_asked_for_without_a_number(
    text: str, units: Units | None, speeds: Units | None
) -> None:
    assert find_units(text) == units
    assert find_units(text, "_speeds") == speeds


@pytest.mark.parametrize(("text", "last", "language"), LANGUAGES)
def test_the_language_is_found(text: str, last: Language | None, language: Language) -> None:
    assert find_language(text, last) == language


@pytest.mark.parametrize("language", get_args(Language))
def test_no_word_stands_for_two_lists_of_slang(language: Language) -> None:
    whole = (FOLDER / f"{language}.yaml").read_text("utf-8")
    text = whole.partition("\nplain:\n")[2].partition("\nphrases:\n")[0]
    keys = re.findall(r'^  "?([^"]*?)"?: ', text, re.MULTILINE)
    assert len(keys) == len(set(keys)) > 10


def test_corners_without_names_are_read_by_number() -> None:
    assert read_slots("C4 and turn 2", "en", UNNAMED).corners == ("C4", "C2")
    assert read_slots("turn 9", "en", UNNAMED).strange == (("corner", "turn 9"),)
    assert read_slots("how was the hairpin", "en", UNNAMED).corners == ()


@pytest.mark.parametrize(
    "text", ["", "   ", "?", "4", "turn", "lap 0", "1:99:99", "T" * 4000, "driverx lapx"]
)
def test_no_text_breaks_the_reader(text: str) -> None:
    slots = read_slots(text, "en", Names())
    assert {field.name for field in fields(slots)} == {field.name for field in fields(Slots)}
    assert mask_names(text, "en", NAMES) == " ".join(mask_names(text, "en", NAMES).split())
