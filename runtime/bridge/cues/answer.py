"""Puts an analysis together: who has the word, and what goes to the streams."""

from typing import NamedTuple

from runtime.bridge.cues.circuit import Place
from runtime.bridge.cues.phrases import tts_ms
from runtime.bridge.cues.rules import rule_phrase, tone_phrase
from runtime.bridge.cues.values import BACKGROUND, Analysis, Burst, Emotion, Source, Tone
from runtime.bridge.live.values import Cue


class Note(NamedTuple):
    """Something that may be said now."""

    text: str
    priority: int
    concept: str = ""
    corner: str | None = None
    phrase_id: str | None = None
    emotion: Emotion = "neutral"


def analysis(
    burst: Burst, tones: tuple[Tone, ...], note: Note | None, place: Place | None
) -> Analysis:
    """The note has the word, else the most urgent tone, else a rule."""
    source: Source = "rule"
    said = note
    if said is None and (spoken := tone_phrase(_sure(burst, tones, place))) is not None:
        phrase, priority = spoken
        source = "sonic_model"
        said = Note(phrase.text, priority, phrase.concept, None, phrase.id, phrase.emotion)
    if said is None:
        phrase = rule_phrase(burst)
        source = "bridge_rules"
        said = Note(phrase.text, BACKGROUND, phrase.concept, None, phrase.id, phrase.emotion)
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
        cue=cue_of(said, burst.session_id, source, burst.burst_id, at, pace_note)
        if burst.session_id
        else None,
        distance_m=at,
    )


def _sure(burst: Burst, tones: tuple[Tone, ...], place: Place | None) -> tuple[Tone, ...]:
    """Those that may be put into words: not the approach to a corner that is only assumed."""
    if place is not None or burst.dist_to_next_corner_m is not None:
        return tones
    return tuple(tone for tone in tones if tone.layer != "brake_approach")


def cue_of(
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
        expected_tts_ms=tts_ms(note.text),
        distance_m=distance_m,
    )
