"""Quantity, place, lap and driver are read alike however they are put together, in any language."""

from itertools import product
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import yaml

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.read import read_question
from tests.bridge.coach.test_slots import NAMES

PARTS: Final[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("combinations.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("language", get_args(Language))
def test_every_combination_is_read_as_its_parts(language: Language) -> None:
    parts, misread = PARTS[language], []
    ways = [(quantity, spot, way) for quantity, spot, asked in parts["quantities"] for way in asked]
    people = {parts["own"]: (), parts["other"]: ("Ben",)}
    picks = product(ways, parts["corners"].items(), parts["laps"].items(), people.items())
    for at, ((quantity, spot, way), (place, corner), (words, laps), (who, drivers)) in enumerate(
        picks
    ):
        frame = parts["frames"][at % len(parts["frames"])]
        asked = frame.format(f"{way.format(corner=place, who=who)} {words}".strip())
        need = (*read_question(asked, NAMES, None).needs, None)[0]
        slots = need.slots if need is not None else None
        read = slots and (
            slots.quantity or (slots.pedal == "brake" and "brake_point"),
            slots.spot if spot else None,
            slots.corners,
            slots.laps,
            slots.drivers,
        )
        if read != (quantity, spot, (corner,), tuple(laps), drivers):
            misread.append((asked, read))
    assert not misread, misread
