"""Reads the catalogue of signals that a fresh registry is filled with."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as validated

from runtime.bridge.can.carfile import first_fault
from runtime.bridge.session.recording import WIDE_SIGNALS
from runtime.bridge.storage.values import SignalRow

Discovery: TypeAlias = Literal["wide_table", "static_obd2", "static_dbc"]
MAX_BYTES: Final = 1 << 20
SignalName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:/ %-]{1,128}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=64)]
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
    obd2_pid: Annotated[str, StringConstraints(pattern=r"^0x[0-9A-F]{2}$")] | None = None
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
        if [x is not None for x in (self.obd2_pid, self.formula, self.bytes)] != [replied] * 3:
            raise ValueError("obd2_pid, formula and bytes belong to static_obd2, all three")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must be less than max")
        if self.min_useful_hz > self.expected_hz:
            raise ValueError("min_useful_hz is over expected_hz")
        if (self.discovery == "wide_table") != (self.name in WIDE_SIGNALS):
            raise ValueError("exactly the columns of a frame are wide_table")
        return self

    @property
    def row(self) -> SignalRow:
        """What the store keeps of it."""
        return SignalRow(**self.model_dump(exclude={"formula", "min", "max", "bytes"}))


class Catalog(BaseModel):
    """The file; the places of its signals become their ids."""

    version: Literal[1]
    signals: tuple[CatalogSignal, ...]

    @validated(mode="after")
    def _distinct(self) -> Self:
        names = [signal.name for signal in self.signals]
        pids = [signal.obd2_pid for signal in self.signals if signal.obd2_pid]
        for values in (names, pids):
            for at, value in enumerate(values):
                if value in values[:at]:
                    raise ValueError(f"{value}: listed twice")
        return self


def load_registry(path: Path) -> tuple[CatalogSignal, ...]:
    """Read the file; raises `RegistryError`, which names the file and the entry."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise RegistryError(f"{path.name}: more than {MAX_BYTES} bytes")
        return Catalog.model_validate_json(data).signals
    except OSError as error:
        raise RegistryError(f"{path.name}: {error.strerror or error}") from None
    except ValidationError as error:
        raise RegistryError(f"{path.name}: {first_fault(error)}") from None
