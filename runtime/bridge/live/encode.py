"""Frames, cues and notifications as server-sent events, each made into bytes once."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from runtime.bridge.cues.model import Cue
from runtime.bridge.session.recording import TIMESTAMP, WIDE_SIGNALS, LiveFrame

RETRY_MS: Final = 2000
"""Milliseconds that a client is asked to wait before it comes back."""
KEEPALIVE: Final = b": keepalive\n\n"
WIRE_NAMES: Final = (
    ("distance", "distance_m"),
    ("speed", "speed_ms"),
    ("g_lat", "g_lat"),
    ("g_long", "g_long"),
    ("combo_g", "combo_g"),
    ("brake_pressure", "brake_bar"),
    ("throttle", "throttle_pct"),
    ("steering", "steering_deg"),
    ("rpm", "rpm"),
    ("lat", "lat"),
    ("lon", "lon"),
)
"""What a column of a frame is called in live frames, beside its own name."""
_DATA: Final = b"data: {"


class Event(NamedTuple):
    """One event as it goes to every listener."""

    number: int
    named: bytes
    """With an ``event:`` line."""
    plain: bytes
    """Without one, for listeners of unnamed messages."""
    always: bool = False
    """Whether it reaches listeners whatever rate they asked for."""


def event(data: bytes, name: str = "", number: int | None = None) -> bytes:
    """*data*, one line of JSON, as an event."""
    head = b"" if number is None else b"id: %d\n" % number
    if name:
        head += b"event: %b\n" % name.encode()
    return head + b"data: " + data + b"\n\n"


def hello(stream: str, about: Mapping[str, object], number: int | None) -> bytes:
    """The first event of a stream; *number* is where a client that comes back goes on."""
    data = orjson.dumps({"stream": stream, **about})
    return b"retry: %d\n" % RETRY_MS + event(data, "hello", number)


def spliced(whole: bytes, dropped: int) -> bytes:
    """The event of a JSON object with ``dropped`` put in front of its fields."""
    at = whole.index(_DATA) + len(_DATA)
    comma = b"" if whole[at : at + 1] == b"}" else b","
    return whole[:at] + b'"dropped":%d' % dropped + comma + whole[at:]


def object_json(body: Mapping[str, object]) -> bytes:
    """*body* as JSON; halves of surrogate pairs, which a cut-off text may hold, become ``?``."""
    try:
        return orjson.dumps(body)
    except TypeError:
        whole = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in body.items()
        }
        return orjson.dumps(whole)


def frame_json(frame: LiveFrame) -> bytes:
    """A live frame under the names that clients read and under its columns' own; NaN is null.

    Further signals never take the place of either.
    """
    wide = frame.wide
    body: dict[str, object] = {TIMESTAMP: wide[TIMESTAMP]}
    for name, column in WIRE_NAMES:
        body[name] = wide[column]
    for column in WIDE_SIGNALS:
        body[column] = wide[column]
    body["session_id"] = frame.session_id
    body["frame_idx"] = frame.frame_idx
    body["source"] = frame.source
    if frame.replay_id is not None:
        body["replay_id"] = frame.replay_id
    for name, value in frame.extras.items():
        body.setdefault(name, value)
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def frame_event(frame: LiveFrame, number: int) -> Event:
    """A live frame as ``event: telemetry``."""
    made = event(frame_json(frame), "telemetry", number)
    return Event(number, made, made)


def control_event(name: str, payload: Mapping[str, object], number: int) -> Event:
    """Something that happens to a telemetry stream, such as its end."""
    made = event(orjson.dumps(payload), name, number)
    return Event(number, made, made, always=True)


def cue_event(cue: Cue, number: int, now_s: float) -> Event:
    """A cue, told at *now_s* (Unix seconds)."""
    data = object_json(
        {
            "id": number,
            "timestamp": round(now_s * 1000),
            "ts": round(now_s, 3),
            "session_id": cue.session_id,
            "burst_id": cue.burst_id,
            "phrase_id": cue.phrase_id,
            "text": cue.text,
            "priority": cue.priority,
            "emotion": cue.emotion,
            "source": cue.source,
            "pace_note": cue.pace_note,
            "concept": cue.concept,
            "corner": cue.corner,
            "expected_tts_ms": cue.expected_tts_ms,
            "distance_m": cue.distance_m,
        }
    )
    return Event(number, event(data, "cue", number), event(data, number=number))


def notification_event(payload: bytes, number: int) -> Event:
    """A notification, whose JSON is kept as it was stored."""
    made = event(payload, "notification", number)
    return Event(number, made, made)
