"""What a driver hears while driving: alarms at once, else at most one message in eight seconds,
about a repeated loss before its corner or about a new corner."""

import math
from collections.abc import Sequence
from typing import Final

from runtime.bridge.cues.advice import STRAIGHT_G, Arbiter, Message, make_occasion
from runtime.bridge.cues.burst import Reading
from runtime.bridge.cues.circuit import NOWHERE_M, Circuit, Place, braking_m
from runtime.bridge.cues.concepts import Inputs, choose_concept
from runtime.bridge.cues.habits import Focus, Habits
from runtime.bridge.cues.model import ADVICE, MOST_WORDS, WARNING, WORD_S, Level
from runtime.bridge.cues.phrases import (
    ANYWHERE,
    Note,
    focus_words,
    grip_note,
    note_of,
    phrase,
    zone_note,
)
from runtime.bridge.cues.tones import Watch
from runtime.bridge.session.definitions import CLOSED_PCT, RELEASED_BAR
from runtime.bridge.session.motion import STANDARD_GRAVITY
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner

QUIET_S: Final = 8.0
"""Least time between two messages that are not about safety."""
NEW: Final = 1
"""Passes after which a corner needs no pace note."""
NEW_TO_BEGINNERS: Final = 2
AT_ONCE: Final = 3
"""Repeated losses worked on at a time: the largest."""
OFTEN: Final = 2
"""How often a repeated loss is mentioned on successive laps; then every third lap."""
REST: Final = 3
EARLY_S: Final = 4.0
"""How long before its latest useful moment a message may begin."""
COASTING_S: Final = 1.0
"""Coasting at an unknown place is mentioned after this long."""
REPEAT_S: Final = 30.0
GAIN_G: Final = 0.2
"""Acceleration expected of a car while it is spoken to."""
CHAIN_S: Final = 0.3
ACTION_S: Final = 1.0
"""Delays between a cue and a foot besides its words: the chain, the driver."""
MOVING_KMH: Final = 30.0
"""A slower car is not being driven on track."""
COASTING: Final = "full_commitment"
CONCEPT_OF: Final = {
    "early_brake": "brake_end_focus",
    "coasting": COASTING,
    "slow_apex": "early_brake_release",
    "late_throttle": "exit_speed",
}


class Voice:
    """What one session hears while driving; times are those of its frames."""

    def __init__(self, arbiter: Arbiter) -> None:
        self._arbiter = arbiter
        self._announced: str | None = None
        self._mentions: dict[str, tuple[int, int]] = {}
        """By corner: how often its loss was mentioned, and at which pass last."""
        self._watch = Watch()
        self._coasts_since: float | None = None
        self._coasting_mentioned = -math.inf

    def warn(
        self,
        t: float,
        combo_g: float,
        speed_ms: float,
        place: Place | None,
        circuit: Circuit | None,
        level: Level,
    ) -> list[Note]:
        """Return safety warnings, whatever was said just now."""
        notes = []
        if self._watch.exceeds_grip(combo_g, t):
            notes.append(grip_note(level))
        if circuit is not None:
            zone = self._watch.enter_zone(circuit, place, speed_ms, t)
            if zone is not None:
                notes.append(zone_note(zone, speed_ms, level))
        for note in notes:
            self._tell(note, t)
        return notes

    def speak(
        self, t: float, reading: Reading, place: Place | None, habits: Habits | None, level: Level
    ) -> Note | None:
        """Return what is worth saying now about a coming corner; None: nothing."""
        coming = place.next if place is not None and place.corner is None else None
        if coming is None or coming.name != self._announced:
            self._announced = None
        if not self._arbiter.is_quiet(t, QUIET_S) or not reading.speed_ms * KMH >= MOVING_KMH:
            return None
        if abs(reading.g_lat) >= STRAIGHT_G:  # an unknown one counts as straight
            return None
        if habits is None or place is None or coming is None or self._announced is not None:
            return None
        note = self._mention_loss(reading, place, habits, level)
        if note is None and not self._waits_for_a_loss(reading, place, habits):
            note = self._pace_note(reading, place, coming, habits, level)
        if note is not None:
            self._announced = coming.name
            self._tell(note, t)
        return note

    def speak_of_coasting(self, t: float, reading: Reading, level: Level) -> Note | None:
        """Speak to a driver who coasts at an unknown place."""
        fast = reading.speed_ms * KMH > 50.0
        if not (reading.coasts and fast) or abs(reading.g_lat) >= STRAIGHT_G:
            self._coasts_since = None
            return None
        if self._coasts_since is None:
            self._coasts_since = t
        late = t - self._coasts_since < COASTING_S or t - self._coasting_mentioned < REPEAT_S
        if late or not self._arbiter.is_quiet(t, QUIET_S):
            return None
        self._coasting_mentioned = t
        text = ANYWHERE[COASTING][level].format(v=f"{reading.speed_ms * KMH:.0f}")
        note = note_of(f"{text}.", ADVICE, COASTING, None, level)
        self._tell(note, t)
        return note

    def _tell(self, note: Note, t: float) -> None:
        """Take the session's one voice; it is free, or this is about safety."""
        self._arbiter.submit(Message(note.priority, note.corner, None), t, on_straight=True)

    def _mention_loss(
        self, reading: Reading, place: Place, habits: Habits, level: Level
    ) -> Note | None:
        """Return a note on the largest repeated loss whose moment has come."""
        for focus in self._due(habits):
            text = focus_words(focus, level)
            if self._is_moment(reading, place, habits.circuit, focus, text):
                count, _ = self._mentions.get(focus.corner.name, (0, 0))
                self._mentions[focus.corner.name] = (count + 1, focus.passes)
                return note_of(text, WARNING, CONCEPT_OF[focus.habit], focus.corner.name, level)
        return None

    def _due(self, habits: Habits) -> list[Focus]:
        """Return the largest repeated losses not mentioned too often lately."""
        due = []
        for focus in habits.focuses[:AT_ONCE]:
            count, at = self._mentions.get(focus.corner.name, (0, -REST))
            if focus.passes - at >= (1 if count < OFTEN else REST):
                due.append(focus)
        return due

    def _is_moment(
        self, reading: Reading, place: Place, circuit: Circuit, focus: Focus, text: str
    ) -> bool:
        """Whether it can be said before the foot must move, and not much sooner.

        If the way from the last corner is too short, it is said before that one.
        """
        needed = _seconds_of(len(text.split()))
        brake = max(focus.brake_m, braking_m(focus.corner))
        left = _seconds_to(_way_to(circuit, place, focus.corner) - brake, reading)
        if left < needed:
            return False
        if place.next is focus.corner:
            return left <= needed + EARLY_S
        before = _before(circuit, focus.corner)
        room = (focus.corner.entry.distance_m - before.exit.distance_m) % circuit.length_m
        crowded = _seconds_to(room - brake, reading) < needed + ACTION_S
        if not crowded or place.next is not before:
            return False
        return _seconds_to(place.to_entry - braking_m(before), reading) <= needed + EARLY_S

    def _waits_for_a_loss(self, reading: Reading, place: Place, habits: Habits) -> bool:
        """Whether a message now would delay one about a repeated loss."""
        reach = (QUIET_S + EARLY_S) * reading.speed_ms
        return any(
            _way_to(habits.circuit, place, focus.corner) - focus.brake_m < reach
            for focus in self._due(habits)
        )

    def _pace_note(
        self, reading: Reading, place: Place, coming: Corner, habits: Habits, level: Level
    ) -> Note | None:
        """Return the pace note of a new corner."""
        new = NEW_TO_BEGINNERS if level == "beginner" else NEW
        if habits.passes(coming) >= new:
            return None
        inputs = Inputs(
            in_corner=False,
            past_apex=False,
            brake=reading.brake_bar,
            thr=max(reading.throttle_pct, CLOSED_PCT),  # a pace note ignores the pressed pedal
            glat=abs(reading.g_lat),
            v=reading.speed_ms * KMH,
            to_entry=place.to_entry,
            bz=place.bz,
            dz=place.dz,
        )
        if place.to_entry >= NOWHERE_M or inputs.brake >= RELEASED_BAR:
            return None
        left = _seconds_to(place.to_entry - place.bz, reading)
        most = min(max(math.floor((left - CHAIN_S - ACTION_S) / WORD_S), 0), MOST_WORDS)
        if left > _seconds_of(most) + EARLY_S:
            return None
        occasion = make_occasion(choose_concept(inputs), inputs, habits.circuit, place)
        text = phrase(occasion, level, most)
        if not text:
            return None
        return note_of(text, ADVICE, occasion.concept.id, coming.name, level)


def _seconds_to(way_m: float, reading: Reading) -> float:
    """Return the seconds until a car has driven *way_m* at its present acceleration."""
    speed = reading.speed_ms
    if way_m <= 0.0:
        return way_m / speed
    gain = STANDARD_GRAVITY * max(GAIN_G, reading.g_long)  # also if not measured
    return (math.sqrt(speed**2 + 2.0 * gain * way_m) - speed) / gain


def _seconds_of(words: int) -> float:
    return CHAIN_S + WORD_S * words + ACTION_S


def _way_to(circuit: Circuit, place: Place, corner: Corner) -> float:
    return (corner.entry.distance_m - place.progress_m) % circuit.length_m


def _before(circuit: Circuit, corner: Corner) -> Corner:
    corners: Sequence[Corner] = circuit.track.in_lap_order()
    return corners[corners.index(corner) - 1]
