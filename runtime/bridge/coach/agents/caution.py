"""Names the danger of a corner wherever an answer is about one; pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.grading import zones_at
from runtime.bridge.coach.agents.safety import TOOL as SAFETY
from runtime.bridge.coach.agents.values import Found, Question
from runtime.bridge.track.model import Corner, Track

ABOUT: Final = frozenset(
    {
        *("corner_history", "corner_facts", "time_loss", "corner_strength", "claim_facts"),
        *("focus_facts", "goal_targets"),
    }
)
"""Tools whose answers are about how a corner is driven."""


BESIDE: Final = frozenset({"channel_facts", "incident_facts", "amount_facts"})
"""Those that are, where the question names a corner."""


def cautioned(
    found: Found, question: Question, corners: Sequence[Corner], track: Track | None
) -> Found:
    """What was found, with the danger behind its first sentence where its corner has one."""
    shaped = question.topic is not None and question.topic.what == "tip"
    own = question.topic.corners if question.topic is not None else ()
    about = found.tool in ABOUT or shaped or (found.tool in BESIDE and bool(own))
    if found.empty or not about or found.tool == SAFETY:
        return found
    advised = found.tool == "focus_facts"
    own = own or ((question.corner,) if question.corner else ())
    first = " ".join(found.details[:1])
    spoken = _named(found.summary, corners) or (_named(first, corners) if advised else ())
    names = own or (spoken if len(spoken) == 1 else ())
    known = {one.name: one for one in corners}
    told = []
    for name in names:
        zones = zones_at(known[name], track) if name in known else []
        if zones and zones[0].description not in found.evidence:
            near = set(spoken) <= {name} and (bool(own) or name in found.summary)
            place = "there" if near else f"at {name}"
            told.append(f"A danger zone is on file {place}: {zones[0].description}")
    return replace(found, details=(*told, *found.details)) if told else found


def _named(text: str, corners: Sequence[Corner]) -> tuple[str, ...]:
    """The corners of a text, in the order in which they stand there."""
    at = {}
    for one in corners:
        place = re.search(rf"\b{re.escape(one.name)}\b", text)
        if place is not None:
            at[one.name] = place.start()
    return tuple(sorted(at, key=lambda name: at[name]))
