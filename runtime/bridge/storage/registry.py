"""The catalogue of signals: seeded from a file, grown by what the sessions bring."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from runtime.bridge.storage import canonical
from runtime.bridge.storage.backend import Row
from runtime.bridge.storage.errors import RegistryFull
from runtime.bridge.storage.values import DISCOVERED, WIDE_TABLE, SignalRow
from runtime.bridge.telemetry.values import WIDE_SIGNALS

MOST_DISCOVERED: Final = 5000
COLUMNS: Final = (
    'signal_id, name, units, semantics, "group", expected_hz, min_useful_hz, discovery, obd2_pid,'
    " discovered_at"
)
INSERT: Final = f"INSERT INTO signal_registry ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants


def room(so_far: int) -> int:
    """How many signals may still be discovered."""
    return max(MOST_DISCOVERED - so_far, 0)


def discovered(name: str, so_far: int, now_ms: int) -> SignalRow:
    """The entry of a signal that nobody announced. Raises `RegistryFull`."""
    if so_far >= MOST_DISCOVERED:
        raise RegistryFull(f"{MOST_DISCOVERED} signals were discovered already; no more are taken")
    return SignalRow(name, discovery=DISCOVERED, discovered_at=now_ms)


def missing(seed: Sequence[SignalRow], known: Mapping[str, SignalRow]) -> Iterator[SignalRow]:
    """What has to be written so that *known* holds the seed; entries keep the ids they have.

    A signal that was discovered takes over what the seed says of it. The wide columns are signals
    whether the seed names them or not.
    """
    named = {canonical.text(row.name): row for row in seed}
    for name in WIDE_SIGNALS:
        named.setdefault(name, SignalRow(name, discovery=WIDE_TABLE))
    for name, row in named.items():
        there = known.get(name)
        if there is None:
            yield replace(row, name=name, signal_id=0)
        elif there.discovery == DISCOVERED != row.discovery:
            yield replace(
                row, name=name, signal_id=there.signal_id, discovered_at=there.discovered_at
            )


def values_of(signal: SignalRow) -> tuple[object, ...]:
    """The row of an entry, in the order of `COLUMNS`."""
    return (
        *(signal.signal_id, signal.name, signal.units, signal.semantics, signal.group),
        *(signal.expected_hz, signal.min_useful_hz, signal.discovery, signal.obd2_pid),
        signal.discovered_at,
    )


def entry(row: Row) -> SignalRow:
    """The entry of a row."""
    return replace(SignalRow(*row[1:]), signal_id=row[0])
