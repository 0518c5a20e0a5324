"""The cue engine: bursts and live frames of every session in, analyses and cues out.

A posted burst is answered by the rules of `/analyze`. Live frames are heard on their own clock, so
that a replay at any pace says the same at the same places. Both speak with the one voice that their
session has.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.cues.advice import (
    STRAIGHT_G,
    Arbiter,
    Message,
    make_occasion,
    rank_advice,
    read_inputs,
    refresh,
)
from runtime.bridge.cues.burst import BurstBuilder, read
from runtime.bridge.cues.circuit import NOWHERE_M, Circuit, Place, circuit_for
from runtime.bridge.cues.concepts import Inputs, choose_concept
from runtime.bridge.cues.habits import Habits
from runtime.bridge.cues.model import (
    USUAL_LEVEL,
    Analysis,
    Burst,
    Cue,
    Level,
    Source,
    Tone,
    level_of,
)
from runtime.bridge.cues.phrases import (
    Note,
    note_of,
    phrase,
    rule_phrase,
    speaking_ms,
    tone_phrase,
)
from runtime.bridge.cues.tones import Ahead, Estimate, LapClock, tones
from runtime.bridge.cues.voice import Voice
from runtime.bridge.session.recording import LiveFrame
from runtime.bridge.session.units import KMH
from runtime.bridge.track.locate import Counter, Locator, Report
from runtime.bridge.track.model import Track

DAY_S: Final = 86_400.0
MIDNIGHT_S: Final = 43_200.0
"""A clock that goes back by more has passed midnight."""
RESTART_S: Final = 1.0
"""One that goes back by more, but not that far, has begun anew."""
GAP_S: Final = 2.0
SESSIONS: Final = 256
"""Remembered at a time; the one that was silent longest is forgotten first."""
TRACK_S: Final = 1.0
"""The track of a session that drives is asked for so often."""
ASSUMED_M: Final = 50.0
ASSUMED_SEVERITY: Final = 3
"""The next corner of a posted burst that says nothing of one, where no track is known."""
TrackOf = Callable[[str], Track | None]
LevelOf = Callable[[str], str | None]
Listener = Callable[[Burst], None]
Step: TypeAlias = Literal["on", "gap", "anew"]
"""How a frame follows the one before: at once, after a pause, or on a clock that began anew."""


class Where(NamedTuple):
    """Where a car is at a frame."""

    t: float
    """Seconds on a clock that goes forward, also past midnight."""
    step: Step
    track: Track | None
    place: Place | None
    """None where nothing tells it."""


def make_analysis(
    burst: Burst, tones: tuple[Tone, ...], note: Note | None, place: Place | None
) -> Analysis:
    """The note has the word, else the most urgent tone, else a rule."""
    source: Source = "rule"
    said = note
    if said is None:
        source, said = "sonic_model", tone_phrase(_certain(burst, tones, place))
    if said is None:
        source, said = "bridge_rules", rule_phrase(burst)
    at = place.progress_m if place else burst.distance_m
    pace_note = note.text if note else ""
    return Analysis(
        coaching=said.text,
        pace_note=pace_note,
        coach_source="rule" if note else "",
        cues=tones,
        burst_id=burst.burst_id,
        source=source,
        concept=said.concept,
        emotion=said.emotion,
        cue=make_cue(said, burst.session_id, source, burst.burst_id, at, pace_note)
        if burst.session_id
        else None,
        distance_m=at,
    )


def _certain(burst: Burst, tones: tuple[Tone, ...], place: Place | None) -> tuple[Tone, ...]:
    """Those that may be put into words: not the approach to a corner that is only assumed."""
    if place is not None or burst.dist_to_next_corner_m is not None:
        return tones
    return tuple(tone for tone in tones if tone.layer != "brake_approach")


def make_cue(
    note: Note,
    session_id: str,
    source: Source,
    burst_id: int,
    distance_m: float | None,
    pace_note: str = "",
) -> Cue:
    """The note for the streams."""
    return Cue(
        session_id=session_id,
        text=note.text,
        priority=note.priority,
        concept=note.concept,
        source=source,
        corner=note.corner,
        pace_note=pace_note,
        emotion=note.emotion,
        burst_id=burst_id,
        phrase_id=note.phrase_id,
        expected_tts_ms=speaking_ms(note.text),
        distance_m=distance_m,
    )


class SessionMemory:
    """What is remembered of one session, of posted bursts and of live frames."""

    def __init__(self, session_id: str, track: Track | None) -> None:
        self.id = session_id
        self._begin_anew()
        self.was_past_apex: bool | None = None
        """In the last burst that was posted."""
        self.bursts = BurstBuilder(session_id)
        self.lost = True
        """Whether nothing tells where on its circuit the car is."""
        self.step: Step = "gap"
        """How the last frame followed the one before."""
        self._t = -math.inf
        self._posted_at = (-math.inf, 0.0)
        """The last frame when a burst was posted, and when on the clock of this machine."""
        self._asked = -math.inf
        self._days = 0.0
        self.circuit: Circuit | None = None
        self.habits: Habits | None = None
        self._lap_clock: LapClock | None = None
        self._locator: Locator | None = None
        self._counter: Counter | None = None
        self.set_track(track)

    def set_track(self, track: Track | None) -> None:
        """The track of the session, which may have changed."""
        if track is (self.circuit.track if self.circuit else None):
            return
        self.circuit = circuit_for(track) if track else None
        self.habits = Habits(self.circuit) if self.circuit and self.circuit.track.corners else None
        self._locator = Locator(track) if track else None
        self._counter = Counter(track.length_m) if track else None
        self._lap_clock = LapClock(track.length_m) if track else None

    def time(self, t: float) -> float | None:
        """The frame's time on a clock that goes forward; None for a frame to be left out.

        Whatever was under way is dropped where the clock has paused or begun anew.
        """
        t += self._days
        anew = False
        if t <= self._t:
            back = self._t - t
            if back > MIDNIGHT_S:
                self._days += DAY_S
                t += DAY_S
            elif back <= RESTART_S:
                return None
            else:  # what was said and learned is of another drive, or of this one played again
                anew = True
                self._begin_anew()
                if self.habits is not None:
                    self.habits = Habits(self.habits.circuit)
        elif math.isinf(self._t):  # what was posted before is of another clock
            self._begin_anew()
        self.step = "on"
        if not 0 < t - self._t <= GAP_S:
            self.step = "anew" if anew else "gap"
            self._interrupted()
        self._t = t
        return t

    def posted_time(self, now: float) -> float:
        """When a burst came on the clock of the frames; on this machine's where there are none."""
        if self._posted_at[0] != self._t:
            self._posted_at = (self._t, now)
        last, then = self._posted_at
        return now if math.isinf(last) else last + now - then

    def estimate(self, t: float, place: Place | None) -> Estimate | None:
        """Follow the lap of the bursts that were posted; an estimate at its checkpoints."""
        if self._lap_clock is None or place is None:
            return None
        return self._lap_clock.tick(t, place.progress_m)

    def is_due(self, t: float) -> bool:
        """Whether to ask for the track at a time; then not again for a second."""
        due = not 0 <= t - self._asked < TRACK_S
        if due:
            self._asked = t
        return due

    def place(self, t: float, frame: LiveFrame) -> Place | None:
        """Where the car is; None where nothing that it told says so."""
        if self.circuit is None or self._locator is None or self._counter is None:
            return None
        wide, nan = frame.wide, math.nan
        # Who sends frames says what the distance counts; nobody says it of a bus or a recording.
        sent = frame.source == "ingest"
        counter = frame.device_distance_m if sent else self._counter.update(frame.device_distance_m)
        told = Report(
            wide.get("lat", nan), wide.get("lon", nan), counter, wide.get("speed_ms", nan)
        )
        progress = self._locator.locate(t, told, wide.get("distance_m", nan))
        self.lost = progress is None and not self._locator.elsewhere
        return None if progress is None else self.circuit.place(progress)

    def place_at(self, distance_m: float | None) -> Place | None:
        """The place of a distance; None where it or the track is not known."""
        if self.circuit is None or distance_m is None:
            return None
        return self.circuit.place(distance_m)

    def _begin_anew(self) -> None:
        self.arbiter = Arbiter()
        self.voice, self.posted_voice = Voice(self.arbiter), Voice(self.arbiter)

    def _interrupted(self) -> None:
        self.bursts.drop()
        if self._counter is not None:
            self._counter.pause()
        if self.habits is not None:
            self.habits.pause()


class CueEngine:
    """Coaches every session that sends bursts or frames; used on one thread.

    *track_of* is asked for each burst: the track of a session, or of none for an empty id.
    *level_of* gives the level of a session's driver, *level* holds where it gives none. *heard* is
    told of each burst that was made of live frames.
    """

    def __init__(
        self,
        track_of: TrackOf,
        level: Level = USUAL_LEVEL,
        *,
        level_of: LevelOf | None = None,
        heard: Listener | None = None,
        sessions: int = SESSIONS,
    ) -> None:
        self.level: Level = level
        """Of drivers of whom nothing else is known."""
        self._track_of = track_of
        self._level_of = level_of
        self._heard = heard
        self._most = sessions
        self._sessions: OrderedDict[str, SessionMemory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def analyze(self, burst: Burst, now: float) -> Analysis:
        """What the coach makes of a burst that somebody summed up; *now* is in seconds of a
        monotonic clock."""
        session = self._session(burst.session_id)
        session.set_track(self._track_of(burst.session_id))
        now = session.posted_time(now)
        place = session.place_at(burst.distance_m)
        estimate = session.estimate(now, place)
        was, session.was_past_apex = session.was_past_apex, burst.past_apex
        ahead = _next_corner(burst, place)
        found = tones(burst, ahead, was_past_apex=was, estimate=estimate)
        level, speed = self._level(session, burst.driver_level), burst.avg_speed_kmh / KMH
        grip, circuit = burst.max_combo_g, session.circuit
        warned = session.posted_voice.warn(now, grip, speed, place, circuit, level)
        note = warned[0] if warned else self._advice(session, burst, place, now)
        return make_analysis(burst, found, note, place)

    def locate(self, frame: LiveFrame) -> Where | None:
        """Where the car is at a frame, on the clock of its session, which may pause and begin anew.

        Asked once for each frame. None for a frame to be left out.
        """
        session = self._session(frame.session_id)
        t = session.time(frame.t)
        if t is None:
            return None
        if session.is_due(t):
            session.set_track(self._track_of(session.id))
        track = session.circuit.track if session.circuit is not None else None
        return Where(t, session.step, track, session.place(t, frame))

    def feed(self, frame: LiveFrame, where: Where | None = None) -> list[Cue]:
        """What is to be said because of a frame; *where* is what `locate` said of it, if asked."""
        where = self.locate(frame) if where is None else where
        if where is None:
            return []
        session = self._session(frame.session_id)
        t, place, reading = where.t, where.place, read(frame)
        burst = session.bursts.add(t, reading, place)
        if burst is not None and self._heard is not None:
            self._heard(burst)
        if session.habits is not None:
            session.habits.add(t, reading, place)
        level, voice = self._level(session), session.voice
        grip, speed = reading.combo_g, reading.speed_ms
        notes = voice.warn(t, grip, speed, place, session.circuit, level)
        note = voice.speak(t, reading, place, session.habits, level)
        if note is None and session.lost:
            note = voice.speak_of_coasting(t, reading, level)
        at = place.progress_m if place else None
        number = session.bursts.number
        return [
            make_cue(one, session.id, "rule", number, at, one.text)
            for one in (*notes, *([note] if note else []))
        ]

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session."""
        self._sessions.pop(session_id, None)

    def reset(self) -> None:
        """Drop everything."""
        self._sessions.clear()

    def _session(self, session_id: str) -> SessionMemory:
        if not session_id:
            return SessionMemory("", None)
        session = self._sessions.get(session_id)
        if session is None:
            session = SessionMemory(session_id, self._track_of(session_id))
            self._sessions[session_id] = session
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session_id)
        return session

    def _advice(
        self, session: SessionMemory, burst: Burst, place: Place | None, now: float
    ) -> Note | None:
        """What the arbiter lets pass, in words."""
        inputs = read_inputs(burst, place)
        level = self._level(session, burst.driver_level)
        arbiter = session.arbiter
        occasion = make_occasion(choose_concept(inputs), inputs, session.circuit, place)
        held = arbiter.held
        if held is not None and held.body and refresh(held.body, inputs, place) is None:
            arbiter.held = None
        message: Message | None = None
        priority = rank_advice(occasion.concept, inputs)
        if priority is not None:
            message = Message(priority, occasion.corner.name if occasion.corner else None, occasion)
        said = arbiter.submit(message, now, on_straight=_on_straight(inputs))
        if said is None or said.body is None:
            return None
        occasion = refresh(said.body, inputs, place) or said.body
        text = phrase(occasion, level)
        return note_of(text, said.priority, occasion.concept.id, said.corner, level)

    def _level(self, session: SessionMemory, told: str | None = None) -> Level:
        own = self._level_of(session.id) if self._level_of and session.id else None
        return level_of(told, level_of(own, self.level))


def _next_corner(burst: Burst, place: Place | None) -> Ahead:
    """As told, else by the track, else assumed."""
    dist, severity = burst.dist_to_next_corner_m, burst.next_corner_severity
    assumed = burst.latest is None  # live frames tell where they are, or nobody knows
    if dist is None:
        unknown = ASSUMED_M if assumed else NOWHERE_M
        dist = place.to_entry if place else unknown
    if severity is None:
        track = place.next.severity if place and place.next else None
        unknown_severity = ASSUMED_SEVERITY if assumed else 0
        severity = track if track is not None else unknown_severity
    return Ahead(dist, severity)


def _on_straight(inputs: Inputs) -> bool:
    """By lateral acceleration; where that is not measured, by the track."""
    if math.isnan(inputs.glat):
        return inputs.in_corner is False
    return inputs.glat < STRAIGHT_G
