"""Reads live events as points: values of a session at a time of day."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from runtime.bridge.live.hub import WIRE_NAMES
from runtime.bridge.storage.records import SessionRow, unix_s

Table: TypeAlias = Literal["telemetry", "cues", "laps", "sectors"]
Value: TypeAlias = float | bool | str
Fields: TypeAlias = dict[str, Value]
Body: TypeAlias = dict[str, Any]

TABLES: Final[Mapping[str, Table]] = {
    "telemetry": "telemetry",
    "cue": "cues",
    "lap": "laps",
    "sector": "sectors",
}
"""The table of each event, by its name; other events concern a stream and are skipped."""
TAGS: Final = ("session", "driver", "car", "track")
SESSIONS: Final = 256
LATEST_S: Final = 9.2e9
"""Nanoseconds of a later time do not fit in 64 bits."""

_EVENT: Final = re.compile(rb"event: (\w+)\ndata: (.*)\n\n")
_NO_CHANNELS: Final = frozenset(
    (
        *(name for name, column in WIRE_NAMES if name != column),
        *("session_id", "frame_idx", "source", "replay_id", "dropped"),
    )
)
"""Fields of a streamed frame that are second names of columns or do not describe the car."""
_OF_CUE: Final = ("text", "priority", "concept", "corner", "emotion", "source", "distance_m")
_OF_LAP: Final = ("lap_number", "lap_time_s", "delta_s", "is_best", "best_lap_s", "mean5_s")
_OF_SECTOR: Final = ("lap_number", "sector", "time_s", "delta_s", "rating")


class Point(NamedTuple):
    """An event of a session at one time."""

    table: Table
    ns: int
    """Unix nanoseconds."""
    tags: Mapping[str, str]
    """By the names of `TAGS`: always the session, others if known."""
    fields: Mapping[str, Value]
    """Only recorded values."""


class NoMoment(ValueError):
    """The session's clock shows a time outside the calendar."""


class PointReader:
    """Turns events into points, in order.

    *rows* and *circuit* are called for each event and return what is known of a session now.
    """

    def __init__(
        self,
        rows: Callable[[str], SessionRow | None],
        circuit: Callable[[str], str | None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._rows, self._circuit, self._wall = rows, circuit, wall
        self._latest: dict[str, float] = {}
        """Unix seconds of the last frame of a session, used for its laps and cues."""

    def read(self, event: bytes) -> Point | None:
        """Return the point of an event, or None if it has none. Raises `NoMoment`."""
        match = _EVENT.search(event)
        table = TABLES.get(match[1].decode()) if match else None
        if match is None or table is None:
            return None
        body: Body = orjson.loads(match[2])
        session_id: str = body["session_id"]
        row = self._rows(session_id)
        if table == "telemetry":
            moment = unix_s(row, body["timestamp"], self._wall())
            if not 0 <= moment < LATEST_S:
                raise NoMoment
            self._note(session_id, moment)
        else:
            moment = self._latest.get(session_id, self._wall())
        tags = {
            "session": session_id,
            "driver": (row and row.driver) or "",
            "car": (row and row.car) or "",
            "track": self._circuit(session_id) or (row and row.track) or "",
        }
        tags = {name: text for name, text in tags.items() if text}
        # A float holds the current time to a quarter of a microsecond.
        return Point(table, round(moment * 1e6) * 1000, tags, _read_fields(table, body))

    def _note(self, session_id: str, moment: float) -> None:
        self._latest[session_id] = moment
        while len(self._latest) > SESSIONS:
            del self._latest[next(iter(self._latest))]


def _read_fields(table: Table, body: Body) -> Fields:
    match table:
        case "telemetry":
            return {
                name: float(value)
                for name, value in body.items()
                if value is not None and name not in _NO_CHANNELS
            }
        case "cues":
            return _select_fields(body, _OF_CUE)
        case "sectors":
            return _select_fields(body, _OF_SECTOR)
        case "laps":
            times = {
                f"sector_{sector['sector']}_s": sector["time_s"]
                for sector in body["sectors"]
                if sector["time_s"] is not None
            }
            return {**_select_fields(body, _OF_LAP), **times}


def _select_fields(body: Body, names: tuple[str, ...]) -> Fields:
    """Select the fields that have a value; every number becomes a float."""
    fields = {name: body[name] for name in names if body[name] not in (None, "")}
    return {name: float(value) if type(value) is int else value for name, value in fields.items()}
