"""The envelope of every error."""

from typing import Literal

from pydantic import Field

from runtime.web.wire import Wire, absent


class ErrorAnswer(Wire):
    """What went wrong."""

    error: str = Field(description="a sentence")
    code: str = Field(description="a machine word")
    param: str | None = absent("the field at fault")
    session_id: str | None = absent()
    table: str | None = absent()
    track_id: str | None = absent()
    driver_id: str | None = absent()
    cars_dir: str | None = absent()
    hint: str | None = absent()
    max_points: int | None = absent()
    source_session_id: str | None = absent("what a running replay replays")
    request_id: str | None = absent()
    saved: Literal[False] | None = absent("of a write")
    line: int | None = absent("of a stream of frames: the line at which it ended, from 1")
    n_appended: int | None = absent("of a stream of frames: how many are stored all the same")
