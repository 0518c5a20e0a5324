"""The words by which a question asks what a concept of the coach means; patterns only."""

import re
from typing import Final

from runtime.bridge.agents.topic_words import Pattern, Words


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


EXPLAIN: Final = _any(
    r"what (?:is|are|does|do)",
    "what's",
    "explain",
    "define",
    "meaning of",
    r"tell me about",
    "why is",
)
CONCEPTS: Final[Words] = (
    ("trail_brake", _any(r"trail ?-?brak\w*")),
    (
        "early_brake_release",
        _any("early (?:brake )?release", "releas\\w* (?:the brakes? )?too early"),
    ),
    ("exit_speed", _any("exit speed")),
    ("full_commitment", _any("full commitment", "commitment", "hustle")),
    ("brake_end_focus", _any("end of braking", "eob", "brak\\w* end")),
    ("downhill_braking", _any(r"down ?-?hill brak\w*", r"brak\w* down ?-?hill")),
    ("uphill_braking", _any(r"up ?-?hill brak\w*", r"brak\w* up ?-?hill")),
    ("late_apex", _any("late(?:r)? apex")),
    ("look_ahead", _any(r"look\w* ahead", "vision", "where to look")),
)
"""Concepts of the coach by the words for them."""
