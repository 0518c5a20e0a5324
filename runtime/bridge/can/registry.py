"""Reads the catalogue of signals that fills a new registry."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as validated

from runtime.bridge.can.carfile import describe_first_error
from runtime.bridge.storage.records import SignalRow

MAX_BYTES: Final = 1 << 20
Label = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Rate = Annotated[float, Field(gt=0, le=10_000)]


class RegistryError(ValueError):
    """The file of signals cannot be used; the text names the file and the entry."""


class CatalogSignal(BaseModel):
    """The stored fields of a signal; its formula and bounds are for people."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:/ %-]{1,128}$")]
    units: Label
    semantics: Label
    group: Label
    expected_hz: Rate
    min_useful_hz: Rate
    """Slower recordings of the signal are useless for coaching."""
    discovery: Literal["wide_table", "static_obd2", "static_dbc"]
    obd2_pid: Annotated[str, StringConstraints(pattern=r"^0x[0-9A-F]{2}$")] | None = None
    """Parameter id of service 01."""


class Catalog(BaseModel):
    """The file; the positions of its signals become their ids."""

    version: Literal[1]
    signals: tuple[CatalogSignal, ...]

    @validated(mode="after")
    def _refuse_duplicates(self) -> Self:
        names = [signal.name for signal in self.signals]
        for at, name in enumerate(names):
            if name in names[:at]:
                raise ValueError(f"{name}: listed twice")
        return self


def load_registry(path: Path) -> list[SignalRow]:
    """Read the file; raises `RegistryError`, which names the file and the entry."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise RegistryError(f"{path.name}: more than {MAX_BYTES} bytes")
        signals = Catalog.model_validate_json(data).signals
    except OSError as error:
        raise RegistryError(f"{path.name}: {error.strerror or error}") from None
    except ValidationError as error:
        raise RegistryError(f"{path.name}: {describe_first_error(error)}") from None
    return [SignalRow(**signal.model_dump()) for signal in signals]
