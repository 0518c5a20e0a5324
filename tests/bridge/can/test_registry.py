"""The catalogue of signals that a fresh registry is filled with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.bridge.can.formulas import compile_formula
from runtime.bridge.can.registry import CatalogSignal, RegistryError, load_registry


@pytest.fixture
def path(root: Path) -> Path:
    return root / "data" / "registry" / "signals.json"


def parsed(text: str, folder: Path) -> tuple[CatalogSignal, ...]:
    (folder / "signals.json").write_text(text)
    return load_registry(folder / "signals.json")


@pytest.fixture
def file(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def test_every_formula_spans_exactly_the_range_of_its_signal(path: Path) -> None:
    for signal in load_registry(path):
        if signal.formula is None:
            continue
        formula = compile_formula(signal.formula)
        low, high = (
            formula(dict.fromkeys(formula.inputs, np.array([byte])))[0] for byte in (0.0, 255.0)
        )
        assert (low, high) == pytest.approx((signal.min, signal.max)), signal.name


SLIPS: list[tuple[str, dict[str, object], str]] = [
    ("a name twice", {"name": "rpm"}, "rpm: listed twice|exactly the columns"),
    ("an unknown key", {"unit": "C"}, r"signals\[11\].unit: unknown key"),
    ("no number", {"expected_hz": "5"}, r"signals\[11\].expected_hz"),
    ("a wrong kind", {"discovery": "guessed"}, r"signals\[11\].discovery"),
    ("a taken pid", {"obd2_pid": "0x0A"}, "0x0A: listed twice"),
    ("a bad pid", {"obd2_pid": "5"}, r"signals\[11\].obd2_pid"),
    ("bounds crossed", {"min": 300}, "min must be less than max"),
    ("too demanding", {"min_useful_hz": 50}, "min_useful_hz is over expected_hz"),
    ("no formula", {"formula": None}, "all three"),
    ("a name of control characters", {"name": "a\nb"}, r"signals\[11\]"),
]


@pytest.mark.parametrize(("change", "message"), [s[1:] for s in SLIPS], ids=[s[0] for s in SLIPS])
def test_an_error_names_the_entry(
    file: dict[str, Any], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    file["signals"][11] |= change
    with pytest.raises(RegistryError, match=message):
        parsed(json.dumps(file), tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"signals": 3}', "[" * 100_000, '{"signals":[]}'])
def test_what_is_no_catalogue_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(RegistryError):
        parsed(text, tmp_path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"signals\.json: No such file"):
        load_registry(tmp_path / "signals.json")
