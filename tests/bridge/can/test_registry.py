"""The catalogue of signals that a fresh registry is filled with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.bridge.can.formulas import compile_formula
from runtime.bridge.can.registry import RegistryError, load_registry
from runtime.bridge.session.recording import WIDE_SIGNALS


@pytest.fixture
def path(root: Path) -> Path:
    return root / "data" / "registry" / "signals.json"


def load(text: str, folder: Path) -> None:
    (folder / "signals.json").write_text(text)
    load_registry(folder / "signals.json")


@pytest.fixture
def file(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def test_every_formula_spans_exactly_the_range_of_its_signal(file: dict[str, Any]) -> None:
    for signal in file["signals"]:
        replied = signal["discovery"] == "static_obd2"
        assert [bool(signal[name]) for name in ("obd2_pid", "formula", "bytes")] == [replied] * 3
        assert signal["min_useful_hz"] <= signal["expected_hz"]
        if not replied:
            continue
        formula = compile_formula(signal["formula"])
        low, high = (
            formula(dict.fromkeys(formula.inputs, np.array([byte])))[0] for byte in (0.0, 255.0)
        )
        assert (low, high) == pytest.approx((signal["min"], signal["max"])), signal["name"]


def test_the_columns_of_a_frame_are_known_as_such(path: Path) -> None:
    wide = [signal.name for signal in load_registry(path) if signal.discovery == "wide_table"]
    assert sorted(wide) == sorted(WIDE_SIGNALS)


SLIPS: list[tuple[str, dict[str, object], str]] = [
    ("a name twice", {"name": "rpm"}, "rpm: listed twice"),
    ("no number", {"expected_hz": "5"}, r"signals\[11\].expected_hz"),
    ("a wrong kind", {"discovery": "guessed"}, r"signals\[11\].discovery"),
    ("a bad pid", {"obd2_pid": "5"}, r"signals\[11\].obd2_pid"),
    ("a name of control characters", {"name": "a\nb"}, r"signals\[11\]"),
]


@pytest.mark.parametrize(("change", "message"), [s[1:] for s in SLIPS], ids=[s[0] for s in SLIPS])
def test_an_error_names_the_entry(
    file: dict[str, Any], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    file["signals"][11] |= change
    with pytest.raises(RegistryError, match=message):
        load(json.dumps(file), tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"signals": 3}', "[" * 100_000, '{"signals":[]}'])
def test_what_is_no_catalogue_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(RegistryError):
        load(text, tmp_path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"signals\.json: No such file"):
        load_registry(tmp_path / "signals.json")
