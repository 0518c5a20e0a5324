"""What the language model is asked; pure."""

import json
from typing import Final

from runtime.bridge.warm.brief import Plan, brief_facts
from runtime.bridge.warm.emotion import EMOTIONS
from runtime.bridge.warm.model import Message
from runtime.bridge.warm.review import Fragments, Review

MOST_FACTS: Final = 4000
"""Characters of facts: a small model reads some 2000 tokens at all."""
_RULES: Final = (
    "Use only numbers that stand in the facts, with their units, and copy them exactly. "
    "Name only corners of the facts. Invent nothing. Plain sentences, no tables. "
    f"End with one tag [EMOTION: word]; word is one of {', '.join(EMOTIONS)}."
)


def debrief_prompt(fragments: Fragments) -> list[Message]:
    """Ask for a debrief of a session."""
    system = (
        "You are a driving coach who talks to a driver after a session. First say one thing that "
        "went well. Then at most two problems with their numbers. Then one thing to work on. "
        f"{_RULES}"
    )
    user = f"{_told(fragments)}\nWrite the debrief."
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def brief_prompt(plan: Plan) -> list[Message]:
    """Ask for a briefing before a session."""
    system = (
        "You are a driving coach who talks to a driver before a session. Say what the surface is "
        "like, what to respect and what to work on, in at most six sentences. Then give at most "
        f'three short items to focus on as <FOCUS>["…", "…"]</FOCUS>. {_RULES}'
    )
    user = f"Facts: {_json(brief_facts(plan))}\nWrite the briefing."
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def small_debrief_prompt(review: Review) -> list[Message]:
    """Ask a very small model about the corner that matters most: a question of its own kind."""
    if not review.costly:
        return [{"role": "user", "content": "How do I get more consistent?"}]
    one = review.costly[0]
    cause, own = one.causes[0].cause, one.own
    question = f"I want to work on exit speed at {one.corner}. What should I do?"
    if cause in ("early_brake", "late_brake"):
        question = f"How should I brake at {one.corner}?"
    elif cause == "exit_understeer":
        question = f"How do I drive a late apex at {one.corner}?"
    elif cause == "low_apex_speed" and own and own.apex_speed_kmh and one.apex_delta_kmh:
        target = own.apex_speed_kmh - one.apex_delta_kmh
        question = (
            f"{one.corner}: apex {own.apex_speed_kmh:.1f} km/h, reference apex {target:.1f} km/h"
        )
    elif cause == "coast_in_corner" and own and own.coast_seconds:
        question = f"{one.corner}: coasting time {own.coast_seconds:.1f} s"
    elif cause == "nothing_time" and own and own.nothing_time_s:
        question = f"{one.corner}: coasting time {own.nothing_time_s:.1f} s"
    return [{"role": "user", "content": question}]


def small_brief_prompt(plan: Plan) -> list[Message]:
    """Ask a very small model about the surface or about the weakest corner."""
    surface = plan.phase.surface_state.lower()
    if "damp" in surface or "cool" in surface or "wet" in surface:
        question = f"The track is {surface} now. What should I do?"
    elif plan.grades.weakest:
        question = f"I want to work on exit speed at {plan.grades.weakest}. What should I do?"
    else:
        question = "How do I learn a new track?"
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
    best = fragments.telemetry.get("best_lap")
    head = f"Facts of the session: {_json({'best_lap': best})}"
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
