"""How values look on the wire: times of day, rounded numbers, ids."""

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictStr

from runtime.bridge.cues.model import LEVELS
from runtime.bridge.live.hub import ACTIVE
from runtime.bridge.live.values import LIVE_SESSION
from runtime.web.wire import Wire

_DIGITS: Final = 18
RESERVED: Final = ("start", "import", "reset", "replay")
"""Fixed paths below /session."""
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}")
_TRUE: Final = frozenset({"true", "1", "yes"})
_FALSE: Final = frozenset({"false", "0", "no"})


def iso(ms: int | None) -> str | None:
    """Unix milliseconds as ISO 8601 in UTC with milliseconds."""
    if ms is None:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def rounded(value: float | None, digits: int) -> float | None:
    """The value to so many places, None for null and for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, digits) + 0.0


def session_id(text: str) -> str:
    """A session id. Raises ValueError for a text that cannot be one."""
    if not _SESSION_ID.fullmatch(text):
        raise ValueError("no session id: letters, digits and . _ : - , 128 characters at most")
    if text in RESERVED:
        raise ValueError(f"no session id: {', '.join(RESERVED)} are paths of their own")
    return text


def recording_id(text: str) -> str:
    """The id of a session that something is stored in. Raises ValueError for what cannot be one."""
    if session_id(text) == ACTIVE:
        raise ValueError(f"no session id: streams call the active session {ACTIVE}; give another")
    return text


def new_session_id(text: str) -> str:
    """The id of a session that is begun. Raises ValueError for one that is not to be had."""
    if recording_id(text) == LIVE_SESSION:
        raise ValueError(
            f"no id to begin a session with: {LIVE_SESSION} takes what a bus brings while no"
            " session is open; give another, or none"
        )
    return text


def level(text: str) -> str:
    """A driver's level as it is kept; empty: none is given. Raises ValueError."""
    word = text.strip().lower()
    if word and word not in LEVELS:
        raise ValueError(f"no level of a driver; known: {', '.join(LEVELS)}")
    return LEVELS.get(word, "")


def flag(value: object) -> object:
    """A yes or no of a query, whatever its case. Raises ValueError."""
    if isinstance(value, str):
        word = value.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise ValueError("must be true or false")
    return value


Moment = Annotated[str, BeforeValidator(iso)]
"""Unix milliseconds, written as a time of day in UTC."""
SessionId = Annotated[StrictStr, AfterValidator(session_id)]
RecordingId = Annotated[StrictStr, AfterValidator(recording_id)]
NewSessionId = Annotated[StrictStr, AfterValidator(new_session_id)]
DriverLevel = Annotated[StrictStr, AfterValidator(level)]
Flag = Annotated[bool, BeforeValidator(flag)]
Short = Annotated[StrictStr, Field(max_length=256)]
Note = Annotated[StrictStr, Field(max_length=2000)]


class Values(Wire):
    """An answer, or a part of one, that is read from the attributes of a value of the domain."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


def capped(most: int, least: int = 1) -> BeforeValidator:
    """An integer of a query, pulled down to *most*; below *least* or no number is refused."""

    def check(value: object) -> object:
        if isinstance(value, str):
            found = re.fullmatch(r"([+-]?)0*([0-9]+)", value)
            if found is None:
                raise ValueError("must be a whole number")
            value = int(found[1] + found[2][:_DIGITS])  # more are beyond every cap all the same
        if isinstance(value, int):
            if value < least:
                raise ValueError(f"must be at least {least}")
            return min(value, most)
        return value

    return BeforeValidator(check)
