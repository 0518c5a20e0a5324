"""The short way of a single frame: from the bytes of a request to the writer and back."""

from collections.abc import Callable, Mapping
from math import hypot, inf, isfinite, isinf
from operator import itemgetter
from typing import Final, NamedTuple

import orjson
from aiohttp import web

from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.ingest import MILLISECONDS_FROM, NAN
from runtime.bridge.session.recording import WIDE
from runtime.bridge.storage.transaction import Row
from runtime.bridge.storage.values import RowAppended
from runtime.web.routes import Passing, Take

_COMBO_G: Final = WIDE.index("combo_g")
_G_LAT: Final = WIDE.index("g_lat")
_G_LONG: Final = WIDE.index("g_long")
_NAMES: Final = frozenset(WIDE)
_FLOAT: Final = {float}
_NUMBERS: Final = {float, int, type(None)}
MOST_SHAPES: Final = 64


def frame_shortcut(app: web.Application, found: Mapping[str, str]) -> Take:
    """Takes frames of one session."""
    service, session_id = app[SERVICE], found["sid"]
    saved = b'{"saved":true,"session_id":%b,"frame_idx":' % orjson.dumps(session_id)

    def take(body: bytes, passing: Passing) -> bool:
        store = service.store
        row = plain_row(body) if store is not None else None
        if store is None or row is None:
            return False
        store.append_row(session_id, row, _Waiting(service, session_id, saved, row, passing))
        return True

    return take


class _Waiting:
    """A frame until it is on disk, see `storage.store.Ticket`."""

    __slots__ = ("_passing", "_row", "_saved", "_service", "_session_id")

    def __init__(
        self, service: Service, session_id: str, saved: bytes, row: Row, passing: Passing
    ) -> None:
        self._service = service
        self._session_id = session_id
        self._saved = saved
        self._row = row
        self._passing = passing

    def done(self) -> bool:
        return False

    def set_result(self, where: RowAppended) -> None:
        self._passing.answer(self._saved + b"%d}" % where.idx)
        live = self._service.live
        if live is not None:
            live.ingested_row(self._session_id, self._row, where.distance_m, where.idx)

    def set_exception(self, error: Exception) -> None:
        self._passing.fail(error)


class _Shape(NamedTuple):
    """Bodies of the same names in the same order."""

    columns: Callable[[list[float]], tuple[float, ...]]
    """Takes the values, with a NaN and the combined acceleration behind them, for the columns."""
    g_lat: int
    g_long: int
    """Which of the values the accelerations are."""


_shapes: dict[tuple[str, ...], _Shape] = {}


def plain_row(body: bytes) -> Row | None:
    """A frame of numbers under the columns' own names; None for any other body, good or bad.

    The same numbers as `telemetry.ingest.read_frame` reads, but that -0.0 stays.
    """
    try:
        frame = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if type(frame) is not dict:
        return None
    names = tuple(frame)
    shape = _shapes.get(names) or _shape(names)
    if shape is None:
        return None
    values = list(frame.values())
    if set(map(type, values)) != _FLOAT:
        if not _NUMBERS.issuperset(map(type, values)):
            return None
        values = [NAN if value is None else float(value) for value in values]
    plain = isfinite(sum(values))
    values.append(NAN)
    values.append(hypot(values[shape.g_lat], values[shape.g_long]))
    row = shape.columns(values)
    if plain and row[0] <= MILLISECONDS_FROM and row[_COMBO_G] != inf:
        return row
    return _reckoned(list(row))


def _shape(names: tuple[str, ...]) -> _Shape | None:
    if not _NAMES.issuperset(names) or WIDE[0] not in names:
        return None
    absent = len(names)
    at = [names.index(name) if name in names else absent for name in WIDE]
    if "combo_g" not in names:
        at[_COMBO_G] = absent + 1
    made = _Shape(itemgetter(*at), at[_G_LAT], at[_G_LONG])
    if len(_shapes) >= MOST_SHAPES:
        _shapes.clear()
    _shapes[names] = made
    return made


def _reckoned(row: list[float]) -> Row | None:
    """The row with what follows from it; None where a number is infinite or the time is missing."""
    if row[0] != row[0] or any(map(isinf, row)):
        return None
    if row[0] > MILLISECONDS_FROM:
        row[0] /= 1000.0
    if row[_COMBO_G] != row[_COMBO_G]:
        combined = hypot(row[_G_LAT], row[_G_LONG])
        row[_COMBO_G] = combined if isfinite(combined) else NAN
    return tuple(row)
