"""Reads the events of live listeners as points: values of a session at a moment of the day."""

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
"""Where an event goes, by its name; others say what happens to a stream and go nowhere."""
TAGS: Final = ("session", "driver", "car", "track")
SESSIONS: Final = 256
LATEST_S: Final = 9.2e9
"""Nanoseconds of a later moment are no 64 bit integer."""

_EVENT: Final = re.compile(rb"event: (\w+)\ndata: (.*)\n\n")
_NO_CHANNELS: Final = frozenset(
    (
        *(name for name, column in WIRE_NAMES if name != column),
        *("session_id", "frame_idx", "source", "replay_id", "dropped"),
    )
)
"""Of a frame as it is streamed: second names of a column, and what says nothing about the car."""
_OF_CUE: Final = ("text", "priority", "concept", "corner", "emotion", "source", "distance_m")
_OF_LAP: Final = ("lap_number", "lap_time_s", "delta_s", "is_best", "best_lap_s", "mean5_s")
_OF_SECTOR: Final = ("lap_number", "sector", "time_s", "delta_s", "rating")


class Point(NamedTuple):
    """What happened in a session at one moment."""

    table: Table
    ns: int
    """Unix nanoseconds."""
    tags: Mapping[str, str]
    """By the names of `TAGS`; the session always, others where they are known."""
    fields: Mapping[str, Value]
    """What was recorded; nothing stands for what was not."""


class NoMoment(ValueError):
    """The clock of a session shows a time that no calendar has."""


class PointReader:
    """Makes points of events, in the order in which they happened.

    *rows* and *circuit* tell what is known of a session now, and are asked for each event.
    """

    def __init__(
        self,
        rows: Callable[[str], SessionRow | None],
        circuit: Callable[[str], str | None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._rows, self._circuit, self._wall = rows, circuit, wall
        self._latest: dict[str, float] = {}
        """Unix seconds of the last frame of a session, which laps and cues are put at."""

    def read(self, event: bytes) -> Point | None:
        """None: it is nothing to keep. Raises `NoMoment`."""
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
        known = {name: text for name, text in tags.items() if text}
        # A float holds a moment of our time to a quarter of a microsecond.
        return Point(table, round(moment * 1e6) * 1000, known, _choose(table, body))

    def _note(self, session_id: str, moment: float) -> None:
        self._latest[session_id] = moment
        while len(self._latest) > SESSIONS:
            del self._latest[next(iter(self._latest))]


def _choose(table: Table, body: Body) -> Fields:
    match table:
        case "telemetry":
            return {
                name: float(value)
                for name, value in body.items()
                if value is not None and name not in _NO_CHANNELS
            }
        case "cues":
            return _named(body, _OF_CUE)
        case "sectors":
            return _named(body, _OF_SECTOR)
        case "laps":
            times = {
                f"sector_{sector['sector']}_s": sector["time_s"]
                for sector in body["sectors"]
                if sector["time_s"] is not None
            }
            return {**_named(body, _OF_LAP), **times}


def _named(body: Body, names: tuple[str, ...]) -> Fields:
    """Those fields that say something; every number is a float, whatever it looks like."""
    found = {name: body[name] for name in names if body[name] not in (None, "")}
    return {name: float(value) if type(value) is int else value for name, value in found.items()}
