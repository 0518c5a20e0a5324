"""Which tool answers which kind of fact; pure."""

from typing import Final

from runtime.bridge.coach.agents.asked import Ask, Topic
from runtime.bridge.coach.agents.values import Call

_TOOL: Final[dict[Ask, str]] = {
    "lap": "lap_facts",
    "versus": "lap_delta",
    "usual_lap": "lap_facts",
    "ideal_lap": "lap_facts",
    "sector": "sector_facts",
    "sector_rank": "sector_facts",
    "corner": "corner_history",
    "measure": "corner_facts",
    "spread": "corner_facts",
    "extreme": "channel_facts",
    "channel": "channel_facts",
    "loss": "time_loss",
    "strength": "corner_strength",
    "mishap": "incident_facts",
    "before": "last_session",
    "risk": "risk_facts",
    "rank": "lap_facts",
    "place": "place_facts",
    "improved": "time_loss",
    "shape": "circuit_facts",
    "circuit": "circuit_facts",
    "session": "session_facts",
    "concept": "concept_facts",
    "claim": "claim_facts",
    "amount": "amount_facts",
    "focus": "focus_facts",
    "balance": "corner_facts",
    "other": "other_driver",
    "unknown": "no_answer",
}


def calls_of(topic: Topic) -> tuple[Call, ...]:
    """The tool that answers a topic."""
    ask = topic.ask
    if ask == "count":
        tools = {"lap": "lap_facts", "session": "session_facts"}
        return (Call(tools.get(topic.what, "circuit_facts")),)
    if ask == "spread" and not topic.corners:
        return (Call("corner_variance"),)
    if ask == "mishap" and topic.what == "any" and not (topic.corners or topic.laps):
        return (Call("incident_moments"),)
    return (Call(_TOOL[ask]),)
