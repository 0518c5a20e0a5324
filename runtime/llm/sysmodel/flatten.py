"""Writes a conversation as one prompt for a system model that takes no list of messages."""

import re
from collections.abc import Sequence

from runtime.llm.values import Turn

# A text whose line begins like a turn would read as one. All line ends count that a model may see.
_LIKE_A_TURN = re.compile(
    r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    r"(?=[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(?:system|assistant|user|tool)\s*:)",
    re.IGNORECASE,
)


def flatten(turns: Sequence[Turn]) -> str:
    """One paragraph ``role: text`` a turn, blank turns left out, then ``assistant: `` to go on.

    Inside a text, a line that begins like a turn is marked with ``> ``, so that nobody can put
    words into another speaker's mouth.
    """
    spoken = [turn for turn in turns if turn.content.strip()]
    return "".join(f"{turn.role}: {_escaped(turn.content)}\n\n" for turn in spoken) + "assistant: "


def _escaped(text: str) -> str:
    return _LIKE_A_TURN.sub(r"\1> ", text)
