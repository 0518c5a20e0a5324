"""The roles of the coach, as clients list them, and the mood of an answer: ``roles.yaml``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel

from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.need import Need, NeedKind
from runtime.bridge.cues.model import Emotion

NUMBERS: Final = "telemetry"
"""The intent of needs that no other role answers."""


class Role(BaseModel, frozen=True, extra="forbid"):
    """A role with its intent."""

    intent: str
    aliases: tuple[str, ...] = ()
    name: str
    role: str
    answers: tuple[NeedKind, ...] = ()
    emotion: Emotion = "analyzing"
    example_questions: tuple[str, ...]


class _File(BaseModel, frozen=True, extra="forbid"):
    """Content of `roles.yaml`."""

    roles: tuple[Role, ...]
    moods: Mapping[str, Emotion]


_TEXT: Final = Path(__file__).with_suffix(".yaml").read_text("utf-8")
_READ: Final = _File.model_validate(yaml.load(_TEXT, yaml.CSafeLoader))
ROLES: Final = _READ.roles
OF_INTENT: Final = {role.intent: role for role in ROLES}
FORCED: Final = {
    intent: role.answers[0]
    for role in ROLES
    if role.answers
    for intent in (role.intent, *role.aliases)
}
"""The kind of need that an intent of the request forces."""
_ANSWERED: Final = {kind: role.intent for role in ROLES for kind in role.answers}


def intent_of(needs: Sequence[Need]) -> str:
    """Return the intent of needs, as answers name it; `NUMBERS` if no role takes them."""
    if not needs:
        return NUMBERS
    lead = needs[0]
    usual = "corner" if lead.slots.corners else NUMBERS
    return _ANSWERED.get(lead.kind, usual)


def emotion_of(facts: Sequence[Fact], intent: str) -> Emotion:
    """Return the mood of an answer, by the kind of its leading fact."""
    lead = facts[0].kind if facts else "not-"
    usual = OF_INTENT[intent].emotion
    return next((mood for start, mood in _READ.moods.items() if lead.startswith(start)), usual)
