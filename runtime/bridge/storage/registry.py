"""The catalogue of signals: seeded from a file, grown by what the sessions bring."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from runtime.bridge.session.recording import WIDE_SIGNALS
from runtime.bridge.storage import canonical
from runtime.bridge.storage.backend import Engine, Row
from runtime.bridge.storage.errors import RegistryFull, StoreFull
from runtime.bridge.storage.values import DISCOVERED, WIDE_TABLE, SignalRow

log = logging.getLogger(__name__)

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


def missing(
    seed: Sequence[SignalRow], entry_of: Callable[[str], SignalRow | None]
) -> Iterator[SignalRow]:
    """What has to be written so that the catalogue holds the seed; entries keep their ids.

    A signal that was discovered takes over what the seed says of it. The wide columns are signals
    whether the seed names them or not.
    """
    named = {canonical.text(row.name): row for row in seed}
    for name in WIDE_SIGNALS:
        named.setdefault(name, SignalRow(name, discovery=WIDE_TABLE))
    for name, row in named.items():
        there = entry_of(name)
        if there is None:
            yield replace(row, name=name, signal_id=0)
        elif there.discovery == DISCOVERED != row.discovery:
            yield replace(
                row, name=name, signal_id=there.signal_id, discovered_at=there.discovered_at
            )


def forget_unused(engine: Engine) -> None:
    """Make room in a catalogue that is half full: discovered names that no sample bears go.

    The last entry stays, since ids count on from there: none is given out twice.
    """
    connection = engine.writer
    counted = "SELECT count(*) FROM signal_registry WHERE "
    known = f"discovery = '{DISCOVERED}'"
    if int(connection.rows(counted + known)[0][0]) <= MOST_DISCOVERED // 2:
        return
    blocks = ("signal_blocks",) if engine.kind == "lightweight" else ()
    # What an import left behind that broke off counts as nothing.
    borne = " UNION ".join(
        f"SELECT signal_id FROM {table} WHERE session_key NOT IN (SELECT session_key FROM staged)"  # noqa: S608 - our tables
        for table in ("session_capabilities", "telemetry_signals", *blocks)
    )
    last = "SELECT max(signal_id) FROM signal_registry"
    unused = f"{known} AND signal_id < ({last}) AND signal_id NOT IN ({borne})"
    if not (count := int(connection.rows(counted + unused)[0][0])):
        return
    try:
        connection.begin(write=True)
        connection.run(f"DELETE FROM signal_registry WHERE {unused}")  # noqa: S608 - constants
        connection.commit()
    except Exception as error:
        with contextlib.suppress(Exception):
            connection.rollback()
        if not isinstance(engine.translated(error), StoreFull):
            raise
        engine.revive(error)
        return
    log.info("the catalogue forgets %d names of which nothing is stored", count)


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
