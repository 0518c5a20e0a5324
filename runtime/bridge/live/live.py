"""Distributes every live frame: to listeners and coach, and from a bus to the database."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, NamedTuple

from runtime.bridge.can.assembler import Flush
from runtime.bridge.can.frame_columns import GPS_DISTANCE
from runtime.bridge.cues.engine import CueEngine, Where
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import Hub
from runtime.bridge.live.recorder import Recorder
from runtime.bridge.live.timing import NO_PAST, NO_READING, LapTimers, Past, Reading
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, LiveFrame, Numbers, Samples
from runtime.web.buckets import Buckets

BACKFILL: Final = 1000
"""A request with more frames is an upload: only its last frame is published."""
COACHED_HZ: Final = 500.0
"""Posted frames of a session a second that the coach takes. A session that exceeds this by more
than a second's worth is an upload, until it has stayed below for a second."""
MOST_WATCHED: Final = 256
"""Sessions whose frame rate is tracked."""
log = logging.getLogger(__name__)


class Destination(NamedTuple):
    """Where the frames of a bus go."""

    session_id: str
    distance_m: float = 0.0
    """Metres that the session covered before."""


class Live:
    """Takes frames from the bus, a replay or a request; used on the event loop only.

    *destination* is called for each batch of a bus; *spoken* gets every published cue, for the
    session's notes; *anew* is called when the bus starts to fill another session. The engine
    locates each car, for the lap clock too, and coaches if *coaches* is set. *past_of* returns
    the earlier laps of a session.
    """

    def __init__(
        self,
        *,
        hub: Hub,
        cues: CueEngine,
        recorder: Recorder | None,
        destination: Callable[[], Destination],
        spoken: Callable[[Cue, LiveFrame], None],
        anew: Callable[[], None],
        coaches: bool = True,
        past_of: Callable[[str], Past] = lambda _: NO_PAST,
    ) -> None:
        self.hub = hub
        self._cues = cues
        self._coaches = coaches
        self._timers = LapTimers(past_of)
        self._recorder = recorder
        self._destination = destination
        self._spoken = spoken
        self._anew = anew
        self._room = Buckets(COACHED_HZ, 2 * COACHED_HZ, MOST_WATCHED)
        self.bus_session = ""
        """The session of the last bus frame; empty before the first."""
        self._counter_m = self._offset_m = self._reached_m = 0.0

    def forget(self, session_id: str) -> None:
        """Drop the state of a deleted session."""
        self.hub.forget(session_id)
        self._timers.forget(session_id)

    def take_flushes(self, flushes: Sequence[Flush]) -> None:
        """Publish and record what a CAN bus delivered."""
        goal = self._destination()
        for flush in flushes:
            if flush.wide is not None:
                wide = self._continue_distance(goal, flush.wide)
                flush = flush._replace(wide=wide)
                device_m = _read_device_distance(flush)
                self.publish(
                    LiveFrame(
                        goal.session_id, "can", wide, flush.extras, device_distance_m=device_m
                    )
                )
            if self._recorder is not None:
                self._recorder.take(goal.session_id, flush)

    def publish_stored(
        self,
        session_id: str,
        frames: Frames,
        extras: Mapping[str, Samples],
        first_idx: int,
        distance_m: Numbers,
    ) -> None:
        """Publish posted frames once they are on disk; *distance_m* as stored.

        Coach and lap clock ignore uploads, which come faster than a car can send.
        """
        count = len(frames)
        begin = 0 if count <= BACKFILL else count - 1
        driven = self._room.take(session_id, monotonic(), count - begin) >= COACHED_HZ
        if not driven and not self.hub.hears_telemetry:
            return
        columns = {name: frames.columns[name][begin:].tolist() for name in WIDE}
        latest = _hold_latest(extras, columns[TIMESTAMP])
        sent, columns["distance_m"] = columns["distance_m"], distance_m[begin:].tolist()
        for at, numbers in enumerate(zip(*columns.values(), strict=True)):
            wide = dict(zip(WIDE, numbers, strict=True))
            index = first_idx + begin + at
            frame = LiveFrame(
                session_id, "ingest", wide, latest[at], index, device_distance_m=sent[at]
            )
            self.publish(frame, driven=driven)

    def publish(self, frame: LiveFrame, *, driven: bool = True) -> None:
        """Publish a frame; if it was *driven* just now, also its lap timing and cues."""
        where, reading = self._follow(frame) if driven else (None, NO_READING)
        self.hub.publish_frame(frame, reading.timing)
        for done in reading.done:
            self.hub.publish_done(frame, done)
        if where is None or not self._coaches:
            return
        try:
            cues = self._cues.feed(frame, where)
        except Exception:  # a failing coach must not cost a frame
            log.exception("the coach failed on a frame")
            return
        for cue in cues:
            self.hub.publish_cue(cue)
            if frame.source != "replay":
                self._spoken(cue, frame)

    def _follow(self, frame: LiveFrame) -> tuple[Where | None, Reading]:
        """Return where the car is and what its lap clock shows."""
        try:
            where = self._cues.locate(frame)
            return where, NO_READING if where is None else self._timers.tick(frame, where)
        except Exception:  # neither may cost a frame
            log.exception("the lap clock failed on a frame")
            return None, NO_READING

    def _continue_distance(
        self, goal: Destination, wide: Mapping[str, float]
    ) -> Mapping[str, float]:
        """Return the frame with its distance continued from where the session stood."""
        counter = wide["distance_m"]
        if goal.session_id != self.bus_session:
            if self.bus_session:
                self._anew()
            self.bus_session, self._reached_m = goal.session_id, goal.distance_m
            self._counter_m = math.inf
        if math.isnan(counter):
            return wide
        if counter < self._counter_m:  # the bus restarted at 0
            self._offset_m = self._reached_m - counter
        self._counter_m, self._reached_m = counter, counter + self._offset_m
        return {**wide, "distance_m": self._reached_m}


def _read_device_distance(flush: Flush) -> float:
    """Return the metres the bus counted since the last flush; NaN without a counter."""
    counted = flush.samples.get(GPS_DISTANCE)
    return float(counted.value[-1]) if counted is not None and len(counted.value) else math.nan


def _hold_latest(extras: Mapping[str, Samples], times: Sequence[float]) -> list[dict[str, float]]:
    """Return the latest value of every extra signal at each frame time."""
    signals: list[dict[str, float]] = [{} for _ in times]
    places = {t: at for at, t in enumerate(times)}
    for name, samples in extras.items():
        for t, value in zip(samples.t.tolist(), samples.value.tolist(), strict=True):
            if (at := places.get(t)) is not None:
                signals[at][name] = value
    if extras:
        for at in range(1, len(signals)):
            signals[at] = {**signals[at - 1], **signals[at]}
    return signals
