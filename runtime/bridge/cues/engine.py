"""The cue engine: bursts and live frames of every session in, analyses and cues out."""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from runtime.bridge.cues.answer import Note, analysis, cue_of
from runtime.bridge.cues.arbiter import Message
from runtime.bridge.cues.burst import Numbers
from runtime.bridge.cues.circuit import NOWHERE_M, Place, Zone
from runtime.bridge.cues.concepts import Inputs, concept_for
from runtime.bridge.cues.layers import Estimate, Heard, tones
from runtime.bridge.cues.phrases import EMOTIONS, Occasion, over_grip, phrase, too_fast
from runtime.bridge.cues.proposal import (
    KMH,
    STRAIGHT_G,
    inputs_of,
    is_approach,
    is_worth_saying,
    occasion_of,
    priority_of,
    refreshed,
    words_that_fit,
)
from runtime.bridge.cues.session import Session, Strand
from runtime.bridge.cues.values import (
    MOST_WORDS,
    SAFETY,
    USUAL_LEVEL,
    Analysis,
    Burst,
    CueLimits,
    Level,
    Tone,
    level_of,
)
from runtime.bridge.live.values import Cue, LiveFrame
from runtime.bridge.track.model import Track

SESSIONS: Final = 256
"""Remembered at a time; the one that was silent longest is forgotten first."""
ASSUMED_M: Final = 50.0
ASSUMED_SEVERITY: Final = 3
"""The next corner of a posted burst that says nothing of one, where no track is known."""

TrackOf = Callable[[str], Track | None]
LevelOf = Callable[[str], str | None]
Listener = Callable[[Burst, Analysis], None]


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
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def analyze(self, burst: Burst, now: float) -> Analysis:
        """What the coach makes of a burst that somebody summed up."""
        session = self._session(burst.session_id)
        session.on(self._track_of(burst.session_id))
        strand, place = session.posted, session.at(burst.distance_m)
        estimate = strand.lap(session.circuit, now, place)
        strand.arrived(place)
        found = self._tones(burst, place, strand, estimate)
        note = self._alarm(session, burst, found, place, now)
        note = note or self._advice(session, burst, place, now)
        return analysis(burst, found, note, place)

    def feed(self, frame: LiveFrame, now: float) -> list[Cue]:
        """What is to be said because of a frame; sessions' clocks may pause and begin anew."""
        session = self._session(frame.session_id)
        t = session.time(frame.t)
        if t is None:
            return []
        place = session.place(t, frame)
        numbers = Numbers(frame)
        cues = self._danger(session, numbers, place, now)
        burst = session.folder.add(t, numbers, place)
        if burst is not None and (cue := self._folded(session, burst, now)) is not None:
            cues.append(cue)
        session.passing.add(place, numbers.brake)
        session.estimate = session.live.lap(session.circuit, t, place) or session.estimate
        return cues

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session."""
        self._sessions.pop(session_id, None)

    def reset(self) -> None:
        """Drop everything."""
        self._sessions.clear()

    def _session(self, session_id: str) -> Session:
        if not session_id:
            return Session("", None)
        session = self._sessions.get(session_id)
        if session is None:
            session = Session(session_id, self._track_of(session_id))
            self._sessions[session_id] = session
            while len(self._sessions) > self._most:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(session_id)
        return session

    def _folded(self, session: Session, burst: Burst, now: float) -> Cue | None:
        """A burst of live frames through the same steps as a posted one, but for the alarms."""
        session.on(self._track_of(session.id))
        strand, place = session.live, session.at(burst.distance_m)
        strand.arrived(place)
        found = self._tones(burst, place, strand, session.estimate)
        session.estimate = None
        made = analysis(burst, found, self._advice(session, burst, place, now, live=True), place)
        if self._heard is not None:
            self._heard(burst, made)
        return made.cue if made.spoken else None

    def _tones(
        self, burst: Burst, place: Place | None, strand: Strand, estimate: Estimate | None
    ) -> tuple[Tone, ...]:
        was, strand.was_past_apex = strand.was_past_apex, burst.past_apex
        dist, severity = _next_corner(burst, place)
        moment = burst.moment
        heard = Heard(
            combo_g=burst.max_combo_g,
            g_lat=moment.glat,
            brake=moment.brake,
            throttle=moment.thr,
            speed_ms=moment.v / KMH,
            in_corner=burst.in_corner,
            past_apex=burst.past_apex,
            was_past_apex=was,
            dist=dist,
            severity=severity,
        )
        return tones(heard, self.limits, estimate)

    def _alarm(
        self,
        session: Session,
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
            zone = session.posted.watch.enters(session.circuit, place, speed, now)
        if any(tone.priority >= SAFETY for tone in found):
            return self._safe(session, _grip_note(level), now)
        if zone is not None:
            note = _zone_note(zone, burst.avg_speed_kmh / KMH, level)
            return self._safe(session, note, now)
        return None

    def _danger(
        self, session: Session, numbers: Numbers, place: Place | None, now: float
    ) -> list[Cue]:
        """Safety, frame by frame."""
        watch, notes = session.live.watch, []
        level = self._level(session)
        if watch.slides(numbers.combo, self.limits, now):
            notes.append(_grip_note(level))
        if session.circuit is not None:
            zone = watch.enters(session.circuit, place, numbers.speed_ms, now)
            if zone is not None:
                notes.append(_zone_note(zone, numbers.speed_ms, level))
        at = place.progress_m if place else None
        return [
            cue_of(
                self._safe(session, note, now),
                session.id,
                "rule",
                session.folder.number,
                at,
                note.text,
            )
            for note in notes
        ]

    def _safe(self, session: Session, note: Note, now: float) -> Note:
        """Say it, whatever was said just now."""
        session.arbiter.submit(Message(SAFETY, note.corner, None), now, on_straight=False)
        return note

    def _advice(
        self,
        session: Session,
        burst: Burst,
        place: Place | None,
        now: float,
        *,
        live: bool = False,
    ) -> Note | None:
        """What the arbiter lets pass, in words."""
        inputs = inputs_of(burst, place, lost=live and session.lost)
        level = self._level(session, burst.driver_level)
        arbiter, strand = session.arbiter, session.live if live else session.posted
        occasion = occasion_of(concept_for(inputs), inputs, session.circuit, place)
        held = arbiter.held
        if held is not None and held.body and refreshed(held.body, inputs, place) is None:
            arbiter.drop()
        message: Message[Occasion | None] | None = None
        priority = priority_of(occasion.concept, inputs)
        wanted = not live or (
            is_worth_saying(occasion, session.passing)
            and strand.is_news(occasion, now)
            and phrase(occasion, level, _room(occasion)) != ""
        )
        if priority is not None and wanted:
            message = Message(priority, occasion.corner and occasion.corner.name, occasion)
        said = arbiter.submit(message, now, on_straight=_on_straight(inputs))
        if said is None or said.body is None:
            return None
        occasion = refreshed(said.body, inputs, place) or said.body
        text = phrase(occasion, level, _room(occasion) if live else MOST_WORDS)
        if not text:
            return None
        strand.said(occasion, now)
        concept = occasion.concept.id
        emotion = EMOTIONS.get(concept, "neutral")
        return Note(text, said.priority, concept, said.corner, f"{concept}-{level}", emotion)

    def _level(self, session: Session, told: str | None = None) -> Level:
        own = self._level_of(session.id) if self._level_of and session.id else None
        return level_of(told, level_of(own, self.level))


def _next_corner(burst: Burst, place: Place | None) -> tuple[float, int]:
    """Metres to it, and its severity: as told, else by the track, else assumed."""
    dist, severity = burst.dist_to_next_corner_m, burst.next_corner_severity
    assumed = burst.latest is None  # live frames tell where they are, or nobody knows
    if dist is None:
        unknown = ASSUMED_M if assumed else NOWHERE_M
        dist = place.to_entry if place else unknown
    if severity is None:
        track = place.next.severity if place and place.next else None
        unknown_severity = ASSUMED_SEVERITY if assumed else 0
        severity = track if track is not None else unknown_severity
    return dist, severity


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
