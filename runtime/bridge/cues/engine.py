"""The cue engine: bursts and live frames of every session in, analyses and cues out."""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from runtime.bridge.cues.advice import (
    STRAIGHT_G,
    Arbiter,
    Message,
    Pass,
    is_approach,
    is_worth_saying,
    make_occasion,
    rank_advice,
    read_inputs,
    refresh,
    words_that_fit,
)
from runtime.bridge.cues.burst import BurstBuilder, Reading, read
from runtime.bridge.cues.circuit import NOWHERE_M, Circuit, Place, Zone, circuit_for
from runtime.bridge.cues.concepts import Inputs, choose_concept
from runtime.bridge.cues.locate import Counter, Locator, Report
from runtime.bridge.cues.model import (
    MOST_WORDS,
    SAFETY,
    USUAL_LEVEL,
    Analysis,
    Burst,
    Cue,
    CueLimits,
    Level,
    Source,
    Tone,
    level_of,
)
from runtime.bridge.cues.phrases import (
    EMOTIONS,
    Note,
    Occasion,
    over_grip,
    phrase,
    rule_phrase,
    speaking_ms,
    tone_phrase,
    too_fast,
)
from runtime.bridge.cues.tones import Ahead, Estimate, LapClock, Watch, tones
from runtime.bridge.session.recording import LiveFrame
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Track

DAY_S: Final = 86_400.0
MIDNIGHT_S: Final = 43_200.0
"""A clock that goes back by more has passed midnight."""
RESTART_S: Final = 1.0
"""One that goes back by more, but not that far, has begun anew."""
GAP_S: Final = 2.0
REPEAT_S: Final = 30.0
"""What a driver does is not spoken of again within this."""
SESSIONS: Final = 256
"""Remembered at a time; the one that was silent longest is forgotten first."""
ASSUMED_M: Final = 50.0
ASSUMED_SEVERITY: Final = 3
"""The next corner of a posted burst that says nothing of one, where no track is known."""
TrackOf = Callable[[str], Track | None]
LevelOf = Callable[[str], str | None]
Listener = Callable[[Burst, Analysis], None]


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


class Strand:
    """What belongs to one way in which a session is heard: posted bursts, or live frames."""

    def __init__(self) -> None:
        self.was_past_apex: bool | None = None
        self.watch = Watch()
        self._clock: LapClock | None = None
        self._announced: str | None = None
        self._said: dict[str, float] = {}

    def lap(self, circuit: Circuit | None, t: float, place: Place | None) -> Estimate | None:
        """Follow the lap; an estimate at its checkpoints."""
        if circuit is None or place is None:
            return None
        if self._clock is None or self._clock.length_m != circuit.length_m:
            self._clock = LapClock(circuit.length_m)
        return self._clock.tick(t, place.progress_m)

    def pause(self) -> None:
        """What happened meanwhile is not known."""
        self.was_past_apex = None
        if self._clock is not None:
            self._clock.pause()

    def update_place(self, place: Place | None) -> None:
        """Where the car is now: an announced corner that was reached may be announced again."""
        coming = place.next if place is not None and place.corner is None else None
        if coming is None or coming.name != self._announced:
            self._announced = None

    def is_news(self, occasion: Occasion, now: float) -> bool:
        """Whether it was not said already: of a corner in this approach, of a habit lately."""
        if is_approach(occasion):
            return occasion.corner is not None and occasion.corner.name != self._announced
        return now - self._said.get(occasion.concept.id, -math.inf) >= REPEAT_S

    def remember(self, occasion: Occasion, now: float) -> None:
        """It was said."""
        if is_approach(occasion) and occasion.corner is not None:
            self._announced = occasion.corner.name
        self._said[occasion.concept.id] = now


class SessionMemory:
    """One session's voice, and its two strands."""

    def __init__(self, session_id: str, track: Track | None) -> None:
        self.id = session_id
        self.arbiter: Arbiter[Occasion | None] = Arbiter()
        self.posted, self.live = Strand(), Strand()
        self.bursts = BurstBuilder(session_id)
        self.passing = Pass()
        self.lost = False
        """Whether nothing tells where on its circuit the car is."""
        self.estimate: Estimate | None = None
        """Of the checkpoint that was passed in the burst under way."""
        self._t = -math.inf
        self._days = 0.0
        self.circuit: Circuit | None = None
        self._locator: Locator | None = None
        self._counter: Counter | None = None
        self.set_track(track)

    def set_track(self, track: Track | None) -> None:
        """The track of the session, which may have changed."""
        if track is (self.circuit.track if self.circuit else None):
            return
        self.circuit = circuit_for(track) if track else None
        self._locator = Locator(track) if track else None
        self._counter = Counter(track.length_m) if track else None

    def time(self, t: float) -> float | None:
        """The frame's time on a clock that goes forward; None for a frame to be left out.

        Whatever was under way is dropped where the clock has paused or begun anew.
        """
        t += self._days
        if t <= self._t:
            back = self._t - t
            if back > MIDNIGHT_S:
                self._days += DAY_S
                t += DAY_S
            elif back <= RESTART_S:
                return None
        if not 0 < t - self._t <= GAP_S:
            self._interrupted()
        self._t = t
        return t

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

    def _interrupted(self) -> None:
        self.bursts.drop()
        if self._counter is not None:
            self._counter.pause()
        self.live.pause()
        self.passing = Pass()
        self.estimate = None


class CueEngine:
    """Coaches every session that sends bursts or frames; used on one thread.

    *track_of* is asked for each burst: the track of a session, or of none for an empty id.
    *level_of* gives the level of a session's driver, *level* holds where it gives none. *heard* is
    told of each burst that was made of live frames. Times *now* are seconds of a monotonic clock.
    """

    def __init__(
        self,
        track_of: TrackOf,
        level: Level = USUAL_LEVEL,
        *,
        level_of: LevelOf | None = None,
        limits: CueLimits | None = None,
        heard: Listener | None = None,
        sessions: int = SESSIONS,
    ) -> None:
        self.level: Level = level
        """Of drivers of whom nothing else is known."""
        self.limits = limits or CueLimits()
        """Of the car."""
        self._track_of = track_of
        self._level_of = level_of
        self._heard = heard
        self._most = sessions
        self._sessions: OrderedDict[str, SessionMemory] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def analyze(self, burst: Burst, now: float) -> Analysis:
        """What the coach makes of a burst that somebody summed up."""
        session = self._session(burst.session_id)
        session.set_track(self._track_of(burst.session_id))
        strand, place = session.posted, session.place_at(burst.distance_m)
        estimate = strand.lap(session.circuit, now, place)
        strand.update_place(place)
        found = self._tones(burst, place, strand, estimate)
        note = self._alarm(session, burst, found, place, now)
        note = note or self._advice(session, burst, place, now)
        return make_analysis(burst, found, note, place)

    def feed(self, frame: LiveFrame, now: float) -> list[Cue]:
        """What is to be said because of a frame; sessions' clocks may pause and begin anew."""
        session = self._session(frame.session_id)
        t = session.time(frame.t)
        if t is None:
            return []
        place = session.place(t, frame)
        reading = read(frame)
        cues = self._danger(session, reading, place, now)
        burst = session.bursts.add(t, reading, place)
        if burst is not None and (cue := self._end_burst(session, burst, now)) is not None:
            cues.append(cue)
        session.passing.add(place, reading.brake_bar)
        session.estimate = session.live.lap(session.circuit, t, place) or session.estimate
        return cues

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

    def _end_burst(self, session: SessionMemory, burst: Burst, now: float) -> Cue | None:
        """A burst of live frames through the same steps as a posted one, but for the alarms."""
        session.set_track(self._track_of(session.id))
        strand, place = session.live, session.place_at(burst.distance_m)
        strand.update_place(place)
        found = self._tones(burst, place, strand, session.estimate)
        session.estimate = None
        made = make_analysis(
            burst, found, self._advice(session, burst, place, now, live=True), place
        )
        if self._heard is not None:
            self._heard(burst, made)
        return made.cue if made.spoken else None

    def _tones(
        self, burst: Burst, place: Place | None, strand: Strand, estimate: Estimate | None
    ) -> tuple[Tone, ...]:
        was, strand.was_past_apex = strand.was_past_apex, burst.past_apex
        ahead = _next_corner(burst, place)
        return tones(burst, ahead, self.limits, was_past_apex=was, estimate=estimate)

    def _alarm(
        self,
        session: SessionMemory,
        burst: Burst,
        found: tuple[Tone, ...],
        place: Place | None,
        now: float,
    ) -> Note | None:
        """Safety, as a posted burst tells of it."""
        level = self._level(session, burst.driver_level)
        zone = None
        if session.circuit is not None:
            speed = burst.avg_speed_kmh / KMH
            zone = session.posted.watch.enter_zone(session.circuit, place, speed, now)
        if any(tone.priority >= SAFETY for tone in found):
            return self._say_at_once(session, _grip_note(level), now)
        if zone is not None:
            note = _zone_note(zone, burst.avg_speed_kmh / KMH, level)
            return self._say_at_once(session, note, now)
        return None

    def _danger(
        self, session: SessionMemory, reading: Reading, place: Place | None, now: float
    ) -> list[Cue]:
        """Safety, frame by frame."""
        watch, notes = session.live.watch, []
        level = self._level(session)
        if watch.exceeds_grip(reading.combo_g, self.limits, now):
            notes.append(_grip_note(level))
        if session.circuit is not None:
            zone = watch.enter_zone(session.circuit, place, reading.speed_ms, now)
            if zone is not None:
                notes.append(_zone_note(zone, reading.speed_ms, level))
        at = place.progress_m if place else None
        return [
            make_cue(
                self._say_at_once(session, note, now),
                session.id,
                "rule",
                session.bursts.number,
                at,
                note.text,
            )
            for note in notes
        ]

    def _say_at_once(self, session: SessionMemory, note: Note, now: float) -> Note:
        """Say it, whatever was said just now."""
        session.arbiter.submit(Message(SAFETY, note.corner, None), now, on_straight=False)
        return note

    def _advice(
        self,
        session: SessionMemory,
        burst: Burst,
        place: Place | None,
        now: float,
        *,
        live: bool = False,
    ) -> Note | None:
        """What the arbiter lets pass, in words."""
        inputs = read_inputs(burst, place, lost=live and session.lost)
        level = self._level(session, burst.driver_level)
        arbiter, strand = session.arbiter, session.live if live else session.posted
        occasion = make_occasion(choose_concept(inputs), inputs, session.circuit, place)
        held = arbiter.held
        if held is not None and held.body and refresh(held.body, inputs, place) is None:
            arbiter.drop()
        message: Message[Occasion | None] | None = None
        priority = rank_advice(occasion.concept, inputs)
        wanted = not live or (
            is_worth_saying(occasion, session.passing)
            and strand.is_news(occasion, now)
            and phrase(occasion, level, _room(occasion)) != ""
        )
        if priority is not None and wanted:
            message = Message(priority, occasion.corner.name if occasion.corner else None, occasion)
        said = arbiter.submit(message, now, on_straight=_on_straight(inputs))
        if said is None or said.body is None:
            return None
        occasion = refresh(said.body, inputs, place) or said.body
        text = phrase(occasion, level, _room(occasion) if live else MOST_WORDS)
        if not text:
            return None
        strand.remember(occasion, now)
        concept = occasion.concept.id
        emotion = EMOTIONS.get(concept, "neutral")
        return Note(text, said.priority, concept, said.corner, f"{concept}-{level}", emotion)

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


def _room(occasion: Occasion) -> int:
    """Words for which there is time."""
    return words_that_fit(occasion.inputs) if is_approach(occasion) else MOST_WORDS


def _on_straight(inputs: Inputs) -> bool:
    """By lateral acceleration; where that is not measured, by the track."""
    if math.isnan(inputs.glat):
        return inputs.in_corner is False
    return inputs.glat < STRAIGHT_G


def _grip_note(level: Level) -> Note:
    return Note(over_grip(level), SAFETY, phrase_id=f"grip-{level}", emotion="intense")


def _zone_note(zone: Zone, speed_ms: float, level: Level) -> Note:
    text = too_fast(zone, min(speed_ms, 999.0), level)
    return Note(text, SAFETY, phrase_id=f"danger-{zone.zone.id}-{level}", emotion="intense")
