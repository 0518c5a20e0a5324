"""Reads the catalogue of signals that a fresh registry is filled with."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as validated

from runtime.bridge.can.carfile import first_fault
from runtime.bridge.can.formulas import FormulaError, compile_formula
from runtime.bridge.session.recording import WIDE_SIGNALS

Discovery: TypeAlias = Literal["wide_table", "static_obd2", "static_dbc"]

MAX_BYTES: Final = 1 << 20
COUNTS: Final[Mapping[Discovery, int]] = {"wide_table": 11, "static_obd2": 19, "static_dbc": 24}
"""Entries of a fresh registry by where they come from: 54 in all."""
REPLY_BYTES: Final = ("A", "B")

SignalName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:/ %-]{1,128}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Pid = Annotated[str, StringConstraints(pattern=r"^0x[0-9A-F]{2}$")]
Rate = Annotated[float, Field(gt=0, le=10_000)]


class RegistryError(ValueError):
    """The file of signals cannot be used; the text names the file and the entry."""


class CatalogSignal(BaseModel):
    """One signal that is known before any session has brought it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    name: SignalName
    units: Label
    semantics: Label
    group: Label
    expected_hz: Rate
    min_useful_hz: Rate
    """Below it a recording of the signal is of no use for coaching."""
    discovery: Discovery
    obd2_pid: Pid | None = None
    """Parameter id of service 01."""
    formula: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """The value from the data bytes A and B of a service-01 reply; None: it comes otherwise."""
    min: float | None = None
    """Smallest value that means anything, in *units*; None: no bound."""
    max: float | None = None
    bytes: Annotated[int, Field(ge=1, le=8)] | None = None
    """Data bytes of the reply."""

    @validated(mode="after")
    def _agrees(self) -> Self:
        replied = self.discovery == "static_obd2"
        given = [x is not None for x in (self.obd2_pid, self.formula, self.bytes)]
        if given != [replied] * 3:
            raise ValueError("obd2_pid, formula and bytes belong to static_obd2, all three")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must be less than max")
        if self.min_useful_hz > self.expected_hz:
            raise ValueError("min_useful_hz is over expected_hz")
        if self.formula is not None:
            _check_formula(self.formula, self.bytes or 0)
        return self


def parse_registry(text: str) -> tuple[CatalogSignal, ...]:
    """The signals in the order of the file, whose places become their ids.

    Raises `RegistryError`, which names the entry.
    """
    try:
        file = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"not a JSON file: {error}") from None
    if not isinstance(file, dict) or not isinstance(file.get("signals"), list):
        raise RegistryError("must be an object with a list of signals")
    if file.get("version") != 1:
        raise RegistryError("version: must be 1")
    signals = tuple(_signal(index, entry) for index, entry in enumerate(file["signals"]))
    _check_counts(signals)
    return signals


def load_registry(path: Path) -> tuple[CatalogSignal, ...]:
    """Read the file; raises `RegistryError`, which names the file and the entry."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise RegistryError(f"more than {MAX_BYTES} bytes")
        return parse_registry(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError, RegistryError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise RegistryError(f"{path.name}: {reason}") from None


def _signal(index: int, entry: object) -> CatalogSignal:
    name = entry.get("name") if isinstance(entry, dict) else None
    where = f"signals[{index}]" + (f" ({name[:128]})" if isinstance(name, str) else "")
    try:
        return CatalogSignal.model_validate(entry)
    except ValidationError as error:
        raise RegistryError(f"{where}: {first_fault(error)}") from None


def _check_formula(formula: str, reply: int) -> None:
    try:
        compiled = compile_formula(formula)
    except FormulaError as error:
        raise ValueError(f"formula: {error}") from None
    known = REPLY_BYTES[:reply]
    for name in compiled.inputs:
        if name not in known:
            raise ValueError(f"formula: {name} is no byte of a reply of {reply}")


def _check_counts(signals: tuple[CatalogSignal, ...]) -> None:
    times = Counter(signal.name for signal in signals)
    for name, count in times.items():
        if count > 1:
            raise RegistryError(f"{name}: listed {count} times")
    pids = Counter(signal.obd2_pid for signal in signals if signal.obd2_pid)
    for signal in signals:
        if signal.obd2_pid and pids[signal.obd2_pid] > 1:
            raise RegistryError(f"{signal.name}: {signal.obd2_pid} belongs to another signal too")
        if (signal.discovery == "wide_table") != (signal.name in WIDE_SIGNALS):
            raise RegistryError(f"{signal.name}: exactly the columns of a frame are wide_table")
    found = Counter(signal.discovery for signal in signals)
    for discovery, count in COUNTS.items():
        if found[discovery] != count:
            raise RegistryError(f"{found[discovery]} entries of {discovery} where {count} belong")
