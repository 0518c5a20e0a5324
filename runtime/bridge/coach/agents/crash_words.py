"""When a hit is a crash, and when what was lost is the car; patterns only."""

import re
from typing import Final

_OBSTACLE: Final = (
    r"(?:(?:the|a|an|my|some|another|somebody'?s?) )?(?:\w+ )?(?:walls?|barriers?|fences?|armco"
    r"|guard ?rails?|rails|cars?|driver|bank|trees?|posts?|poles?|bollards?|cones?|marshal|debris"
    r"|animal|deer|dog|bird|bike|tyre (?:wall|stack)s?|tire (?:wall|stack)s?|tyres|tires|pit ?wall)"
    r"|(?:something|anything|some(?:one|body)|any(?:one|body))"
)
"""What a car is stopped by; a brake, an apex or a time is hit as well, and nothing is hurt."""
HIT: Final = rf"hit (?:{_OBSTACLE})"
LOST: Final = r"lo(?:se|st|sing) (?:it|the (?:car|rear|back|tail|rear end))"
TIME_LOST: Final = re.compile(
    r"^(?!.*\b(?:nearly|almost)\b)(?:.*(?:\bhow much\b|\bcompared?\b|\bagainst\b|\b(?:time|tenths?"
    r"|seconds?)\b|\bthan\b|\bvs\b|\bmost\b|\bto my best\b)|(?:where|which|when|how) .*\blose it\b)"
)
"""Words by which what was lost is time, and not the car."""
