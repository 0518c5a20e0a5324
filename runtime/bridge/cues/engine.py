"""The cue engine: bursts and live frames of every session in, analyses and cues out.

The rules of `/analyze` answer a posted burst. Live frames run on their own clock, so that a replay
at any pace says the same at the same places. Both use the session's one voice.
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
"""A clock that goes back by more, but not that far, has restarted."""
GAP_S: Final = 2.0
SESSIONS: Final = 256
"""Sessions remembered at a time; the longest silent is forgotten first."""
TRACK_S: Final = 1.0
"""How often the track of a driving session is looked up."""
ASSUMED_M: Final = 50.0
ASSUMED_SEVERITY: Final = 3
"""The next corner of a posted burst that names none, on an unknown track."""
TrackOf = Callable[[str], Track | None]
LevelOf = Callable[[str], str | None]
Listener = Callable[[Burst], None]
Step: TypeAlias = Literal["on", "gap", "anew"]
"""How a frame follows the last: at once, after a pause, or on a restarted clock."""


class Where(NamedTuple):
    """Where a car is at a frame."""

    t: float
    """Seconds on a clock that only goes forward, also past midnight."""
    step: Step
    track: Track | None
    place: Place | None
    """None if unknown."""


def make_analysis(
    burst: Burst, tones: tuple[Tone, ...], note: Note | None, place: Place | None
) -> Analysis:
    """Choose the words: the note's, else those of the most urgent tone, else a rule's."""
    source: Source = "rule"
    chosen = note
    if chosen is None:
        source, chosen = "sonic_model", tone_phrase(_list_certain(burst, tones, place))
    if chosen is None:
        source, chosen = "bridge_rules", rule_phrase(burst)
    at = place.progress_m if place else burst.distance_m
    pace_note = note.text if note else ""
    return Analysis(
        coaching=chosen.text,
        pace_note=pace_note,
        coach_source="rule" if note else "",
        cues=tones,
        burst_id=burst.burst_id,
        source=source,
        concept=chosen.concept,
        emotion=chosen.emotion,
        cue=make_cue(chosen, burst.session_id, source, burst.burst_id, at, pace_note)
        if burst.session_id
        else None,
        distance_m=at,
    )


def _list_certain(burst: Burst, tones: tuple[Tone, ...], place: Place | None) -> tuple[Tone, ...]:
    """Return the tones that may be put into words, without the approach to an assumed corner."""
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
    """Make the cue of a note."""
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
    """Memory of one session, of posted bursts and live frames."""

    def __init__(self, session_id: str, track: Track | None) -> None:
        self.id = session_id
        self._begin_anew()
        self.was_past_apex: bool | None = None
        """In the last posted burst."""
        self.bursts = BurstBuilder(session_id)
        self.lost = True
        """Whether the car's place on its circuit is unknown."""
        self.step: Step = "gap"
        """How the last frame followed the one before."""
        self._t = -math.inf
        self._posted_at = (-math.inf, 0.0)
        """The last frame when a burst was posted, and its time on this machine's clock."""
        self._asked = -math.inf
        self._days = 0.0
        self.circuit: Circuit | None = None
        self.habits: Habits | None = None
        self._lap_clock: LapClock | None = None
        self._locator: Locator | None = None
        self._counter: Counter | None = None
        self.set_track(track)

    def set_track(self, track: Track | None) -> None:
        """Set the track of the session, which may have changed."""
        if track is (self.circuit.track if self.circuit else None):
            return
        self.circuit = circuit_for(track) if track else None
        self.habits = Habits(self.circuit) if self.circuit and self.circuit.track.corners else None
        self._locator = Locator(track) if track else None
        self._counter = Counter(track.length_m) if track else None
        self._lap_clock = LapClock(track.length_m) if track else None

    def time(self, t: float) -> float | None:
        """Return the frame's time on a clock that only goes forward; None for a frame to skip.

        Work in progress is dropped if the clock has paused or restarted.
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
            else:  # words and habits belong to another drive, or to a replay
                anew = True
                self._begin_anew()
                if self.habits is not None:
                    self.habits = Habits(self.habits.circuit)
        elif math.isinf(self._t):  # posted bursts ran on another clock
            self._begin_anew()
        self.step = "on"
        if not 0 < t - self._t <= GAP_S:
            self.step = "anew" if anew else "gap"
            self._pause()
        self._t = t
        return t

    def time_burst(self, now: float) -> float:
        """Return when a burst came, on the frames' clock; on this machine's without frames."""
        if self._posted_at[0] != self._t:
            self._posted_at = (self._t, now)
        last, then = self._posted_at
        return now if math.isinf(last) else last + now - then

    def estimate(self, t: float, place: Place | None) -> Estimate | None:
        """Follow the lap of the posted bursts; return an estimate at its checkpoints."""
        if self._lap_clock is None or place is None:
            return None
        return self._lap_clock.tick(t, place.progress_m)

    def is_due(self, t: float) -> bool:
        """Whether to look up the track now; then not again for a second."""
        due = not 0 <= t - self._asked < TRACK_S
        if due:
            self._asked = t
        return due

    def place(self, t: float, frame: LiveFrame) -> Place | None:
        """Return where the car is; None if its frame does not say."""
        if self.circuit is None or self._locator is None or self._counter is None:
            return None
        wide, nan = frame.wide, math.nan
        # A sender of frames says what the distance counts; a bus or a recording does not.
        sent = frame.source == "ingest"
        counter = frame.device_distance_m if sent else self._counter.update(frame.device_distance_m)
        report = Report(
            wide.get("lat", nan), wide.get("lon", nan), counter, wide.get("speed_ms", nan)
        )
        progress = self._locator.locate(t, report, wide.get("distance_m", nan))
        self.lost = progress is None and not self._locator.elsewhere
        return None if progress is None else self.circuit.place(progress)

    def place_at(self, distance_m: float | None) -> Place | None:
        """Return the place of a distance; None if it or the track is unknown."""
        if self.circuit is None or distance_m is None:
            return None
        return self.circuit.place(distance_m)

    def _begin_anew(self) -> None:
        self.arbiter = Arbiter()
        self.voice, self.posted_voice = Voice(self.arbiter), Voice(self.arbiter)

    def _pause(self) -> None:
        self.bursts.drop()
        if self._counter is not None:
            self._counter.pause()
        if self.habits is not None:
            self.habits.pause()


class CueEngine:
    """Coaches every session that sends bursts or frames; used on one thread.

    *track_of* is asked for each burst: it gives the track of a session, or of no session for an
    empty id. *level_of* gives the level of a session's driver; *level* applies if it gives none.
    *heard* receives each burst made of live frames.
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
        """Level of drivers otherwise unknown."""
        self._track_of = track_of
        self._level_of = level_of
        self._heard = heard
        self._most = sessions
        self._sessions: OrderedDict[str, SessionMemory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def analyze(self, burst: Burst, now: float) -> Analysis:
        """Analyse a posted burst; *now* is in seconds of a monotonic clock."""
        session = self._session(burst.session_id)
        session.set_track(self._track_of(burst.session_id))
        now = session.time_burst(now)
        place = session.place_at(burst.distance_m)
        estimate = session.estimate(now, place)
        was, session.was_past_apex = session.was_past_apex, burst.past_apex
        ahead = _next_corner(burst, place)
        sounds = tones(burst, ahead, was_past_apex=was, estimate=estimate)
        level, speed = self._level(session, burst.driver_level), burst.avg_speed_kmh / KMH
        grip, circuit = burst.max_combo_g, session.circuit
        warned = session.posted_voice.warn(now, grip, speed, place, circuit, level)
        note = warned[0] if warned else self._advice(session, burst, place, now)
        return make_analysis(burst, sounds, note, place)

    def locate(self, frame: LiveFrame) -> Where | None:
        """Locate the car at a frame, on its session's clock, which may pause and restart.

        Call it once for each frame. Returns None for a frame to skip.
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
        """Return what to say because of a frame; *where* is the result of `locate`, if called."""
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
            make_cue(spoken, session.id, "rule", number, at, spoken.text)
            for spoken in (*notes, *([note] if note else []))
        ]

    def forget(self, session_id: str) -> None:
        """Forget a session."""
        self._sessions.pop(session_id, None)

    def reset(self) -> None:
        """Forget every session."""
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
        """Return what the arbiter admits, in words."""
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
        admitted = arbiter.submit(message, now, on_straight=_on_straight(inputs))
        if admitted is None or admitted.body is None:
            return None
        occasion = refresh(admitted.body, inputs, place) or admitted.body
        text = phrase(occasion, level)
        return note_of(text, admitted.priority, occasion.concept.id, admitted.corner, level)

    def _level(self, session: SessionMemory, stated: str | None = None) -> Level:
        own = self._level_of(session.id) if self._level_of and session.id else None
        return level_of(stated, level_of(own, self.level))


def _next_corner(burst: Burst, place: Place | None) -> Ahead:
    """Return the next corner: as stated, else by the track, else assumed."""
    dist, severity = burst.dist_to_next_corner_m, burst.next_corner_severity
    assumed = burst.latest is None  # live frames know their place, or nobody does
    if dist is None:
        unknown = ASSUMED_M if assumed else NOWHERE_M
        dist = place.to_entry if place else unknown
    if severity is None:
        track = place.next.severity if place and place.next else None
        unknown_severity = ASSUMED_SEVERITY if assumed else 0
        severity = track if track is not None else unknown_severity
    return Ahead(dist, severity)


def _on_straight(inputs: Inputs) -> bool:
    """Judge by lateral acceleration; if that was not measured, by the track."""
    if math.isnan(inputs.glat):
        return inputs.in_corner is False
    return inputs.glat < STRAIGHT_G
