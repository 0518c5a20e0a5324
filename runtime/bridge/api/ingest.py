"""Ingestion of telemetry: frames, samples of signals, and video frames."""

import asyncio
import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, Literal

import numpy as np
import orjson
from aiohttp import web
from pydantic import ConfigDict, Field, StrictInt, StrictStr, WithJsonSchema

from runtime.bridge.api.shapes import WRITE_ERRORS, AnswerModel, Note, Number, RecordingPath, Short
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
NO_CELL: Final = "a column of the frames, and every frame near this time has it already"
FULL: Final = "the catalogue of signals is full"
_LARGE: Final = 256
"""Frames above which a batch is read off the event loop."""
routes = Routes("session")

# Checked column by column, many times faster than object by object.
_FRAME: Final[dict[str, Any]] = {
    "properties": {name: {"type": ["number", "null"]} for name in WIDE},
    **needs(TIMESTAMP, *(name for name, _ in ALIASES[TIMESTAMP])),
}
"""The columns of a frame; a time is required."""
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
            "description": "instead of frames: an array for each column",
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
    """Frames to append, and details of their session."""

    model_config = ConfigDict(json_schema_extra=needs("frames", "columns", alone=True))

    frames: FrameObjects = None
    columns: FrameColumns = None
    driver: Short | None = None
    driver_level: Short | None = None
    track: Short | None = None
    car: Short | None = None
    note: Note | None = None

    def make_meta(self) -> SessionMeta:
        """Return the details of the session."""
        return SessionMeta(**self.model_dump(exclude={"frames", "columns"}))


PEDALS: Final = {
    "throttle_pct": "throttle_pct: no value is above 1; the unit is %, so 1 means one percent",
    "brake_bar": "brake_bar: no value is above 1; the unit is bar",
}
DOUBTED_FROM: Final = 20


class RejectedFrame(AnswerModel):
    """A rejected frame or sample of a batch."""

    index: int
    reason: str


class IgnoredKey(AnswerModel):
    """A key whose values were not stored, or not all of them."""

    name: str
    reason: str


class FramesAnswer(AnswerModel):
    """The stored frames."""

    saved: Literal[True] = True
    session_id: str
    n_appended: int
    first_frame_idx: int
    last_frame_idx: int
    n_rejected: int
    rejected: list[RejectedFrame]
    n_ignored: int = Field(description="keys whose values were not stored, or not all of them")
    ignored: list[IgnoredKey] = Field(description="the first twenty of these keys, by name")
    doubts: list[str] | None = absent(
        "columns of doubtful unit: a pedal that stays within 0 to 1 over twenty frames or more"
    )


class FrameRequest(Plain):
    """One frame: timestamp in seconds, then numbers or null by column name."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_FRAME)


class FrameAnswer(AnswerModel):
    """The stored frame."""

    saved: Literal[True] = True
    session_id: str
    frame_idx: int
    ignored: list[IgnoredKey] | None = absent("the first twenty keys whose values were not stored")


class VideoFrameRequest(Wire):
    """The position of a moment in a video file."""

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
    """The stored video frames."""

    saved: Literal[True] = True
    session_id: str
    n_appended: int


class SignalsRequest(Plain):
    """Samples to append."""

    model_config = ConfigDict(json_schema_extra=needs("signals"))

    signals: SampleObjects = None


class SignalsAnswer(AnswerModel):
    """The stored samples."""

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
    """One frame per line, stored in groups as the lines arrive.

    Counts cover all groups. A line that is not JSON, or any other early end of the stream, gives an
    error with `line` and `n_appended`: the frames before that line are stored, except those of its
    own group if the database refused them. A line has at most 1 MiB and must be complete within
    30 s of the previous one.
    """
    intake = _Intake(request.app[SERVICE], path.sid)
    line = 1  # the next one, or the faulty one
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
    return intake.make_answer()


@routes.post(
    "/session/{sid}/frames",
    body_cap=BODY_CAP,
    lines=add_frame_lines,
    errors=(*ERRORS, BadLine),
)
async def add_frames(
    request: web.Request, *, path: RecordingPath, body: FramesRequest
) -> FramesAnswer:
    """Append frames to a session, creating it if needed."""
    intake = _Intake(request.app[SERVICE], path.sid, body.make_meta())
    if body.frames is not None and body.columns is not None:
        raise NotSaved("send frames or columns, not both")
    with _refuse_bad_batch():
        if body.columns is None:
            batch = await _read(body.frames)
        else:
            batch = await asyncio.to_thread(read_columns, body.columns)
    await intake.store(batch)
    return intake.make_answer()


class _Intake:
    """Stores the frames of a request in one or more groups, and keeps count."""

    def __init__(self, service: Service, session_id: str, meta: SessionMeta = NOTHING) -> None:
        self.n_appended = 0
        self._service, self._session_id, self._meta = service, session_id, meta
        self._n_frames = self._n_rejected = self._first_idx = self._last_idx = 0
        self._rejected: list[Rejected] = []
        self._ignored: dict[str, Ignored] = {}
        self._most = dict.fromkeys(PEDALS, 0.0)

    async def store_some(self, frames: list[object]) -> None:
        """Store a group of frames, which need not contain a usable one."""
        before = self._n_frames
        self._n_frames += len(frames)
        if not frames:
            return
        with _refuse_bad_batch():
            try:
                batch = await _read(frames)
            except NoUsableFrame as error:
                self._reject(before, len(frames), error.rejected)
                return
        await self.store(batch, before)

    async def store(self, batch: FrameBatch, before: int = 0) -> None:
        """Store a group that follows *before* frames of the request."""
        db = self._service.db
        appended = await db.append_frames(self._session_id, batch.frames, batch.extras, self._meta)
        _publish(self._service, self._session_id, batch, appended)
        if not self.n_appended:
            self._first_idx = appended.first_idx
        self._last_idx = appended.last_idx
        self.n_appended += len(batch.frames)
        self._reject(before, batch.n_rejected, batch.rejected)
        self._ignored = {key.name: key for key in _list_ignored(batch, appended)} | self._ignored
        for name, most in self._most.items():
            column = batch.frames.columns[name]
            self._most[name] = float(np.fmax.reduce(np.abs(column), initial=most))

    def _reject(self, before: int, count: int, rejected: Sequence[Rejected]) -> None:
        self._n_rejected += count
        room = REASONS_KEPT - len(self._rejected)
        self._rejected += [Rejected(before + item.index, item.reason) for item in rejected[:room]]

    def make_answer(self) -> FramesAnswer:
        """Report on all frames. Raises `NotSaved` if none was stored."""
        if not self.n_appended:
            why = f"no frame can be used: {self._rejected[0].reason}" if self._rejected else ""
            raise NotSaved(why or "the body must contain at least one frame, one per line")
        return FramesAnswer.of(
            session_id=self._session_id,
            n_appended=self.n_appended,
            first_frame_idx=self._first_idx,
            last_frame_idx=self._last_idx,
            n_rejected=self._n_rejected,
            rejected=self._rejected,
            n_ignored=len(self._ignored),
            ignored=sorted(self._ignored.values())[:REASONS_KEPT],
            doubts=self._find_doubts() or None,
        )

    def _find_doubts(self) -> list[str]:
        small = [name for name, most in self._most.items() if 0.0 < most <= 1.0]
        return [PEDALS[name] for name in small] if self.n_appended >= DOUBTED_FROM else []


def _parse_lines(lines: Sequence[bytes]) -> tuple[list[object], int]:
    """Parse the frames up to the first line that is not JSON. Return them and their line count."""
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
    """Append one frame and return its index."""
    with _refuse_bad_batch():
        batch = read_frame(body.model_extra)
    service = request.app[SERVICE]
    appended = await service.db.append_frames(path.sid, batch.frames, batch.extras)
    _publish(service, path.sid, batch, appended)
    keys = sorted(_list_ignored(batch, appended))[:REASONS_KEPT]
    ignored = [IgnoredKey.of(key) for key in keys] or None
    return FrameAnswer(session_id=path.sid, frame_idx=appended.first_idx, ignored=ignored)


@routes.post("/session/{sid}/video_frames", body_cap=BODY_CAP, errors=ERRORS)
async def add_video_frames(
    request: web.Request, *, path: RecordingPath, body: VideoRequest
) -> VideoAnswer:
    """Append positions of the session's moments in video files."""
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
    with _refuse_bad_batch():
        batch = await asyncio.to_thread(read_samples, body.signals, names)
    appended = await store.append_signals(path.sid, batch.samples)
    rejected = [*batch.rejected, *_list_unplaced(batch, appended.placed)]
    return SignalsAnswer.of(
        appended,
        session_id=path.sid,
        names=sorted(batch.samples),
        n_rejected=batch.n_rejected + appended.n_rejected,
        rejected=sorted(rejected, key=lambda sample: sample.index)[:REASONS_KEPT],
    )


def _list_unplaced(batch: SampleBatch, placed: Mapping[str, Sequence[float]]) -> list[Rejected]:
    """List the first twenty samples of frame columns that filled no cell."""
    lost: list[int] = []
    for name in WIDE_SIGNALS:
        if name in batch.samples:
            where = batch.places[name].tolist()
            latest = dict(zip(batch.samples[name].t.tolist(), where, strict=True))
            kept = {latest[t] for t in placed.get(name, ()) if t in latest}
            lost += [at for at in where if at not in kept]
    return [Rejected(at, NO_CELL) for at in sorted(lost)[:REASONS_KEPT]]


def _publish(service: Service, session_id: str, batch: FrameBatch, appended: Appended) -> None:
    """Send stored frames to listeners and coach."""
    if service.live is not None:
        service.live.publish_stored(
            session_id, batch.frames, batch.extras, appended.first_idx, appended.distance_m
        )


def _list_ignored(batch: FrameBatch, appended: Appended) -> list[Ignored]:
    """List the keys of stored frames whose values were not stored."""
    return [*batch.ignored, *(Ignored(name, FULL) for name in appended.left_out)]


@contextmanager
def _refuse_bad_batch() -> Iterator[None]:
    """Turn the errors of an unusable batch into answers."""
    try:
        yield
    except BatchTooLarge as error:
        raise TooLarge(str(error)) from error
    except BadBatch as error:
        raise NotSaved(str(error)) from error
