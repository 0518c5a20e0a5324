"""Which questions may be put to a driver: a closed list, as any other may suppose a lie; pure."""

import re
from typing import Final

_WHERE: Final = r"(?: (?:at|in|through|into|about|of|out of) @| today| there)?"
_CORNER: Final = r"(?:@|the (?:car|session|run)|your session|it|today)"
_RUN: Final = r"(?:the next (?:run|lap|session)|the next one|@|today)"
_KNOWN: Final = (
    r"(?:are you )?ready(?: to go)?(?: for " + _RUN + ")?",
    r"how (?:did|does|was) " + _CORNER + r"(?: feel)?(?: for you| to you)?" + _WHERE,
    r"how (?:did|do|are) you (?:feel|feeling)" + _WHERE,
    r"what (?:did|do) you (?:see|feel|notice|think|remember)" + _WHERE,
    r"what did you (?:see|feel|notice) at the (?:entry|apex|exit) of @",
    r"how confident (?:are|do) you (?:feel )?(?:with|about) your (?:braking point|line|hands)",
    r"where (?:do|did) you look" + _WHERE,
    r"what (?:would|do) you (?:want|like) to (?:work on|talk about|try)(?: next| first| today)?",
    r"which corner (?:would|do) you (?:want|like) to (?:work on|talk about)(?: next| first)?",
    r"what is your plan(?: for " + _RUN + ")?",
    r"does (?:that|this) make sense",
    r"any questions|shall we(?: begin| start)?|sounds good|okay|ok",
)
_PATTERN: Final = re.compile("|".join(f"(?:{one})" for one in _KNOWN))


def harmless(question: str, names: re.Pattern[str] | None) -> bool:
    """Whether a question, in small letters, supposes nothing; *names* finds names of corners."""
    text = question.replace("what's", "what is")
    if names is not None:
        text = names.sub("@", text)
    text = re.sub(r"\b(?:turn |t)\d+[a-z]?\b", "@", text)
    text = re.sub(r"^@, (?=how|what|where)", "", text)
    return text.count("@") <= 1 and _PATTERN.fullmatch(text.rstrip(" ?")) is not None
