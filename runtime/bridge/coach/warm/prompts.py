"""What the language model is asked; pure."""

import json
from typing import Final

from runtime.bridge.coach.warm.brief import Plan, brief_facts
from runtime.bridge.coach.warm.emotion import EMOTIONS
from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.model import Message
from runtime.bridge.coach.warm.review import Fragments, Review

MOST_FACTS: Final = 4000
"""Characters of facts: a small model reads some 2000 tokens at all."""
_RULES: Final = (
    "Use only numbers that stand in the facts, with their units, and copy them exactly. "
    "Name only corners of the facts. Invent nothing. Plain sentences, no tables. "
    f"End with one tag [EMOTION: word]; word is one of {', '.join(EMOTIONS)}."
)


def debrief_prompt(fragments: Fragments, told: str) -> list[Message]:
    """Ask for what the debrief *told* lacks."""
    system = (
        "You are a driving coach. The driver has read the debrief below. Add three to five short "
        "sentences: why the one thing to work on pays, how hands, feet and eyes do it, and a word "
        f"of encouragement. Repeat nothing, name no other problem and no other goal. {_RULES}"
    )
    user = f"{_told(fragments)}\nThe debrief:\n{told[:MOST_FACTS]}\nWhat do you add?"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def brief_prompt(plan: Plan, told: str) -> list[Message]:
    """Ask for what the briefing *told* lacks."""
    system = (
        "You are a driving coach. The driver has read the briefing below. Add two to four short "
        "sentences about the surface and about how to work on the tasks. Repeat nothing. Then give "
        f'at most three short items to focus on as <FOCUS>["…", "…"]</FOCUS>. {_RULES}'
    )
    facts = _json(brief_facts(plan))
    user = f"Facts: {facts}\nThe briefing:\n{told[:MOST_FACTS]}\nWhat do you add?"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def small_debrief_prompt(review: Review) -> list[Message]:
    """Ask a very small model about the corner that matters most: a question of its own kind."""
    question = "How do I get more consistent?"
    if review.found and review.found[0].corner:
        first = review.found[0]
        risky = first.corner in review.dangers  # where nobody is asked for more speed
        question = f"How do I look ahead at {first.corner}?" if risky else _about(first)
    return [{"role": "user", "content": question}]


def _about(one: Finding) -> str:
    """The question that a very small model knows best for a finding."""
    if one.family == "braking":
        return f"How should I brake at {one.corner}?"
    if one.family == "hands":
        return f"The steering is busy at {one.corner}. What should I do?"
    if one.cause in ("rolling", "late_throttle"):
        return f"How do I get on the throttle earlier at {one.corner}?"
    if one.family == "pedals" or one.cause == "low_apex_speed":
        return f"How do I trail brake at {one.corner}?"
    if one.family == "apex":
        return f"How do I look ahead at {one.corner}?"
    return f"What helps at the exit of {one.corner}?"


def small_brief_prompt(plan: Plan) -> list[Message]:
    """Ask a very small model about the surface or about the weakest corner."""
    surface = plan.phase.surface_state.lower()
    if "damp" in surface or "cool" in surface or "wet" in surface:
        question = f"The track is {surface} now. What should I do?"
    elif plan.grades.weakest:
        question = f"How do I look ahead at {plan.grades.weakest}?"
    else:
        question = "How do I get more consistent?"
    return [{"role": "user", "content": question}]


def _told(fragments: Fragments) -> str:
    """The facts as lines that a small model can follow, the most important first."""
    lines = [f"- {item['narrative_seed']}" for item in fragments.highlights[:4]]
    corners = fragments.telemetry.get("corners")
    if isinstance(corners, list):
        lines += [f"- {_corner(one)}" for one in corners[:3]]
    lines += [
        f"- {item['corner']}: {item['evidence']} {item['tip']}" for item in fragments.pedagogy
    ]
    known = {key: fragments.telemetry.get(key) for key in ("best_lap", "distance_m")}
    known = {key: value for key, value in known.items() if value is not None}
    head = f"Facts of the session: {_json(known)}"
    return "\n".join([head, *lines])[:MOST_FACTS]


def _corner(one: dict[str, object]) -> str:
    """The way in which corners are written for a coach."""
    named = (
        ("delta", "delta_time_s", "s"),
        ("apex", "apex_speed_kmh", "km/h"),
        ("reference apex", "reference_apex_speed_kmh", "km/h"),
        ("exit", "exit_speed_kmh", "km/h"),
        ("reference exit", "reference_exit_speed_kmh", "km/h"),
    )
    parts = [f"{name} {one[key]} {unit}" for name, key, unit in named if one.get(key) is not None]
    return f"{one['corner']}: {', '.join(parts)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))[:MOST_FACTS]
