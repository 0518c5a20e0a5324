"""Takes telemetry in: frames, one or many, samples of signals, video frames."""

import asyncio
import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal

import numpy as np
import orjson
from aiohttp import web
from pydantic import ConfigDict, Field, StrictInt, StrictStr, WithJsonSchema

from runtime.bridge.api.shapes import (
    WRITE_ERRORS,
    AnswerModel,
    Note,
    Number,
    RecordingPath,
    Short,
)
from runtime.bridge.errors import BadLine, NotSaved
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.ingest import (
    ALIASES,
    REASONS_KEPT,
    BadBatch,
    BatchTooLarge,
    FrameBatch,
    Ignored,
    NoUsableFrame,
    Rejected,
    SampleBatch,
    read_columns,
    read_frame,
    read_frames,
    read_samples,
)
from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, VideoFrame
from runtime.bridge.storage.errors import BadFrames, RegistryFull
from runtime.bridge.storage.records import NOTHING, Appended, SessionMeta
from runtime.web.bodies import read_lines
from runtime.web.errors import ApiError, NotFound, TooLarge
from runtime.web.routes import Routes
from runtime.web.wire import Plain, Wire, absent, needs

BODY_CAP: Final = 64 << 20
MOST_VIDEO_FRAMES: Final = 100_000
NO_CELL: Final = "a column of the frames, and no frame near this time lacks it"
FULL: Final = "the catalogue of signals is full"
_LARGE: Final = 256
"""Frames of a batch that is read off the event loop."""
routes = Routes("session")

# Checked column by column, many times faster than object by object.
_FRAME: Final[dict[str, Any]] = {
    "properties": {name: {"type": ["number", "null"]} for name in WIDE},
    **needs(TIMESTAMP, *(name for name, _ in ALIASES[TIMESTAMP])),
}
"""The columns of a frame, of which it needs a time."""
FrameObjects = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "object", "additionalProperties": True, **_FRAME},
            "description": "frames: timestamp in seconds, then numbers or null by column name",
        }
    ),
]
FrameColumns = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": "array"},
            "description": "in place of frames: an array for each column",
        }
    ),
]
SampleObjects = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "array",
            "items": {},
            "description": "[name, t, value], or objects with name or signal_id, t, value",
        }
    ),
]


class FramesRequest(Plain):
    """Frames to append, and what is known of their session."""

    model_config = ConfigDict(json_schema_extra=needs("frames", "columns", alone=True))

    frames: FrameObjects = None
    columns: FrameColumns = None
    driver: Short | None = None
    driver_level: Short | None = None
    track: Short | None = None
    car: Short | None = None
    note: Note | None = None

    def meta(self) -> SessionMeta:
        """What is known of the session."""
        return SessionMeta(**self.model_dump(exclude={"frames", "columns"}))


PEDALS: Final = {
    "throttle_pct": "throttle_pct: no value is above 1; it is kept in %, so that 1 is one percent",
    "brake_bar": "brake_bar: no value is above 1; it is kept in bar",
}
DOUBTED_FROM: Final = 20


class RejectedFrame(AnswerModel):
    """Something of a batch that was left out."""

    index: int
    reason: str


class IgnoredKey(AnswerModel):
    """A key of frames whose values were not kept, or not all of them."""

    name: str
    reason: str


class FramesAnswer(AnswerModel):
    """The frames are on disk."""

    saved: Literal[True] = True
    session_id: str
    n_appended: int
    first_frame_idx: int
    last_frame_idx: int
    n_rejected: int
    rejected: list[RejectedFrame]
    n_ignored: int = Field(description="keys whose values were not kept, or not all of them")
    ignored: list[IgnoredKey] = Field(description="the first twenty of them, by name")
    doubts: list[str] | None = absent(
        "columns whose unit is doubtful: a pedal that never leaves 0 to 1, of twenty frames or more"
    )


class FrameRequest(Plain):
    """One frame: timestamp in seconds, then numbers or null by column name."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_FRAME)


class FrameAnswer(AnswerModel):
    """The frame is on disk."""

    saved: Literal[True] = True
    session_id: str
    frame_idx: int
    ignored: list[IgnoredKey] | None = absent("keys whose values were not kept, the first twenty")


class VideoFrameRequest(Wire):
    """Where a moment lies in a video file."""

    timestamp: Number
    avitime_ms: Annotated[StrictInt, Field(ge=-(1 << 53), le=1 << 53)] | None = None
    file_path: Annotated[StrictStr, Field(min_length=1, max_length=4096)]
    file_offset_s: Number | None = None
    width: Annotated[StrictInt, Field(ge=0, le=1 << 20)] | None = None
    height: Annotated[StrictInt, Field(ge=0, le=1 << 20)] | None = None


class VideoRequest(Wire):
    """Video frames to append."""

    frames: list[VideoFrameRequest] = Field(min_length=1, max_length=MOST_VIDEO_FRAMES)


class VideoAnswer(Wire):
    """The video frames are on disk."""

    saved: Literal[True] = True
    session_id: str
    n_appended: int


class SignalsRequest(Plain):
    """Samples to append."""

    model_config = ConfigDict(json_schema_extra=needs("signals"))

    signals: SampleObjects = None


class SignalsAnswer(AnswerModel):
    """The samples are on disk."""

    saved: Literal[True] = True
    session_id: str
    n_appended: int
    names: list[str]
    newly_discovered: tuple[str, ...]
    capabilities_count: int
    n_rejected: int
    rejected: list[RejectedFrame]


ERRORS: Final = (*WRITE_ERRORS, NotSaved, NotFound, TooLarge, BadFrames)


async def add_frame_lines(request: web.Request, *, path: RecordingPath) -> FramesAnswer:
    """One frame a line, stored in groups while the lines arrive.

    Counts are those of all groups. At a line that is not JSON, or anything else that ends the
    stream early, the answer is an error with `line` and `n_appended`: the frames before that line
    are stored, but for those that came together with it where the database refused them. A line
    holds at most 1 MiB and must be complete 30 s after the one before it.
    """
    intake = _Intake(request.app[SERVICE], path.sid)
    line = 1  # the one that is awaited, or was at fault
    try:
        async for lines in read_lines(request, BODY_CAP):
            if line == 1:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            frames, n_read = _parse_lines(lines)
            await intake.store_some(frames)
            line += n_read
            if n_read < len(lines):
                raise BadLine(f"line {line} is not valid JSON")
    except ApiError as error:
        if intake.n_appended:
            error.message += f"; {intake.n_appended} frames before it are stored"
        vars(error).update(line=line, n_appended=intake.n_appended)
        raise
    return intake.answer()


@routes.post(
    "/session/{sid}/frames",
    body_cap=BODY_CAP,
    lines=add_frame_lines,
    errors=(*ERRORS, BadLine),
)
async def add_frames(
    request: web.Request, *, path: RecordingPath, body: FramesRequest
) -> FramesAnswer:
    """Append frames to a session, which is made where it is unknown."""
    intake = _Intake(request.app[SERVICE], path.sid, body.meta())
    if body.frames is not None and body.columns is not None:
        raise NotSaved("send frames or columns, not both")
    with _refusing():
        if body.columns is None:
            batch = await _read(body.frames)
        else:
            batch = await asyncio.to_thread(read_columns, body.columns)
    await intake.store(batch)
    return intake.answer()


class _Intake:
    """What became of the frames of one request, which are stored in one group or several."""

    def __init__(self, service: Service, session_id: str, meta: SessionMeta = NOTHING) -> None:
        self.n_appended = 0
        self._service, self._session_id, self._meta = service, session_id, meta
        self._n_frames = self._n_rejected = self._first_idx = self._last_idx = 0
        self._rejected: list[Rejected] = []
        self._ignored: dict[str, Ignored] = {}
        self._most = dict.fromkeys(PEDALS, 0.0)

    async def store_some(self, frames: list[object]) -> None:
        """Store a group of frames, of which none need be usable."""
        before = self._n_frames
        self._n_frames += len(frames)
        if not frames:
            return
        with _refusing():
            try:
                batch = await _read(frames)
            except NoUsableFrame as error:
                self._reject(before, len(frames), error.rejected)
                return
        await self.store(batch, before)

    async def store(self, batch: FrameBatch, before: int = 0) -> None:
        """Store a group; as many frames of the request came *before*."""
        db = self._service.db
        done = await db.append_frames(self._session_id, batch.frames, batch.extras, self._meta)
        _tell(self._service, self._session_id, batch, done)
        if not self.n_appended:
            self._first_idx = done.first_idx
        self._last_idx = done.last_idx
        self.n_appended += len(batch.frames)
        self._reject(before, batch.n_rejected, batch.rejected)
        self._ignored = {key.name: key for key in _ignored(batch, done)} | self._ignored
        for name, most in self._most.items():
            column = batch.frames.columns[name]
            self._most[name] = float(np.fmax.reduce(np.abs(column), initial=most))

    def _reject(self, before: int, count: int, rejected: Sequence[Rejected]) -> None:
        self._n_rejected += count
        room = REASONS_KEPT - len(self._rejected)
        self._rejected += [Rejected(before + item.index, item.reason) for item in rejected[:room]]

    def answer(self) -> FramesAnswer:
        """What became of all frames. Raises `NotSaved` where none was stored."""
        if not self.n_appended:
            why = f"no frame can be used: {self._rejected[0].reason}" if self._rejected else ""
            raise NotSaved(why or "the body must hold at least one frame, one a line")
        return FramesAnswer.of(
            session_id=self._session_id,
            n_appended=self.n_appended,
            first_frame_idx=self._first_idx,
            last_frame_idx=self._last_idx,
            n_rejected=self._n_rejected,
            rejected=self._rejected,
            n_ignored=len(self._ignored),
            ignored=sorted(self._ignored.values())[:REASONS_KEPT],
            doubts=self._doubts() or None,
        )

    def _doubts(self) -> list[str]:
        small = [name for name, most in self._most.items() if 0.0 < most <= 1.0]
        return [PEDALS[name] for name in small] if self.n_appended >= DOUBTED_FROM else []


def _parse_lines(lines: Sequence[bytes]) -> tuple[list[object], int]:
    """The frames up to the first line that is not JSON, and how many lines that is."""
    frames: list[object] = []
    for number, line in enumerate(lines):
        try:
            if line.strip():
                frames.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            return frames, number
    return frames, len(lines)


async def _read(frames: object) -> FrameBatch:
    if isinstance(frames, list) and len(frames) <= _LARGE:
        return read_frames(frames)
    return await asyncio.to_thread(read_frames, frames)


@routes.post("/session/{sid}/frame", errors=ERRORS, quiet=True)
async def add_frame(
    request: web.Request, *, path: RecordingPath, body: FrameRequest
) -> FrameAnswer:
    """Append one frame; tells its index."""
    with _refusing():
        batch = read_frame(body.model_extra)
    service = request.app[SERVICE]
    done = await service.db.append_frames(path.sid, batch.frames, batch.extras)
    _tell(service, path.sid, batch, done)
    ignored = [IgnoredKey.of(key) for key in sorted(_ignored(batch, done))[:REASONS_KEPT]]
    return FrameAnswer(session_id=path.sid, frame_idx=done.first_idx, ignored=ignored or None)


@routes.post("/session/{sid}/video_frames", body_cap=BODY_CAP, errors=ERRORS)
async def add_video_frames(
    request: web.Request, *, path: RecordingPath, body: VideoRequest
) -> VideoAnswer:
    """Append where moments of the session lie in video files."""
    frames = [VideoFrame(**frame.model_dump()) for frame in body.frames]
    count = await request.app[SERVICE].db.append_video(path.sid, frames)
    return VideoAnswer(session_id=path.sid, n_appended=count)


@routes.post("/session/{sid}/signals", body_cap=BODY_CAP, errors=(*ERRORS, RegistryFull))
async def add_signals(
    request: web.Request, *, path: RecordingPath, body: SignalsRequest
) -> SignalsAnswer:
    """Append samples of signals; unknown names are registered."""
    store = request.app[SERVICE].db
    names = {row.signal_id: row.name for row in store.registry()}
    with _refusing():
        batch = await asyncio.to_thread(read_samples, body.signals, names)
    done = await store.append_signals(path.sid, batch.samples)
    rejected = [*batch.rejected, *_unplaced(batch, done.placed)]
    return SignalsAnswer.of(
        done,
        session_id=path.sid,
        names=sorted(batch.samples),
        n_rejected=batch.n_rejected + done.n_rejected,
        rejected=sorted(rejected, key=lambda sample: sample.index)[:REASONS_KEPT],
    )


def _unplaced(batch: SampleBatch, placed: Mapping[str, Sequence[float]]) -> list[Rejected]:
    """The samples of columns of the frames that filled none of their cells, the first twenty."""
    lost: list[int] = []
    for name in WIDE_SIGNALS:
        if name in batch.samples:
            where = batch.places[name].tolist()
            latest = dict(zip(batch.samples[name].t.tolist(), where, strict=True))
            kept = {latest[t] for t in placed.get(name, ()) if t in latest}
            lost += [at for at in where if at not in kept]
    return [Rejected(at, NO_CELL) for at in sorted(lost)[:REASONS_KEPT]]


def _tell(service: Service, session_id: str, batch: FrameBatch, done: Appended) -> None:
    """What is on disk goes to listeners and coach."""
    if service.live is not None:
        service.live.publish_stored(
            session_id, batch.frames, batch.extras, done.first_idx, done.distance_m
        )


def _ignored(batch: FrameBatch, done: Appended) -> list[Ignored]:
    """What of the frames was not kept, though they were."""
    return [*batch.ignored, *(Ignored(name, FULL) for name in done.left_out)]


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse a batch of which nothing can be used."""
    try:
        yield
    except BatchTooLarge as error:
        raise TooLarge(str(error)) from error
    except BadBatch as error:
        raise NotSaved(str(error)) from error
