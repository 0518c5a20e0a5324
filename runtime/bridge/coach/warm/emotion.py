"""The mood of a text: a tag that a model may write, taken out before anybody reads it."""

import re
from typing import Final, NamedTuple, cast, get_args

from runtime.bridge.cues.model import Emotion

EMOTIONS: Final[tuple[Emotion, ...]] = get_args(Emotion)
HELD: Final = 32
"""A tag is no longer than this; what is longer is text."""
_NAME: Final = "emotion"
_TAG: Final = re.compile(r"\[\s*emotion\s*:([^\[\]]*)\]", re.IGNORECASE)
_BEGUN: Final = re.compile(r"\[\s*emotion\s*:", re.IGNORECASE)


_ALWAYS: Final = frozenset({"thinking", "analyzing", "encouraging"})
_GRADED: Final = (
    (frozenset("AB"), frozenset({"proud", "excited", "relaxed"})),
    (frozenset("DEF"), frozenset({"serious", "disappointed"})),
)
"""Moods that judge a session, and the grades that allow them."""


class Felt(NamedTuple):
    """A text without its tags, and what they said."""

    text: str
    emotion: Emotion


class Strainer:
    """Takes tags out of a text that comes in pieces.

    However it is cut into pieces, what comes out together is what `felt` gives for the whole: no
    part of a tag, no space at either end.
    """

    def __init__(self) -> None:
        self._held = ""
        """A bracket and what followed, while it may still be a tag."""
        self._spaces = ""
        self._begun = False
        self._tagged = False
        """Whether a tag was taken out of the spaces that are held."""
        self._found: Emotion | None = None

    @property
    def emotion(self) -> Emotion:
        """Of the first tag with a known word, so far; neutral without one."""
        return self._found or "neutral"

    def feed(self, piece: str) -> str:
        """What of the text may be shown now."""
        shown: list[str] = []
        for letter in piece:
            self._take(letter, shown)
        return "".join(shown)

    def finish(self) -> str:
        """What was held back and is no tag; a tag that was begun is none to show."""
        shown: list[str] = []
        if not _BEGUN.match(self._held):
            self._show(self._held, shown)
        self._held = self._spaces = ""
        return "".join(shown).rstrip()

    def _take(self, letter: str, shown: list[str]) -> None:
        if letter == "[":
            self._release(shown)
            self._held = letter
        elif not self._held:
            self._show(letter, shown)
        else:
            self._held += letter
            if letter == "]" and (tag := _TAG.fullmatch(self._held)):
                self._held = ""
                self._tagged = True
                word = tag.group(1).strip().lower()
                if self._found is None and word in EMOTIONS:
                    self._found = cast(Emotion, word)
            elif len(self._held) >= HELD or not _may_be_tag(self._held):
                self._release(shown)

    def _release(self, shown: list[str]) -> None:
        held, self._held = self._held, ""
        self._show(held, shown)

    def _show(self, text: str, shown: list[str]) -> None:
        for letter in text:
            if letter.isspace():
                self._spaces += letter
                continue
            if self._begun:
                shown.append(_joined(self._spaces) if self._tagged else self._spaces)
            self._spaces, self._begun, self._tagged = "", True, False
            shown.append(letter)


def felt(text: str) -> Felt:
    """The text without tags, and its mood."""
    strainer = Strainer()
    shown = strainer.feed(text) + strainer.finish()
    return Felt(shown, strainer.emotion)


def fitting(mood: Emotion, usual: Emotion, grade: str | None = None) -> Emotion:
    """The mood of a model where the *grade* of the session allows it, else the *usual* one."""
    if usual == "concerned":
        return usual
    graded = any(grade in letters and mood in moods for letters, moods in _GRADED)
    return mood if graded or mood in _ALWAYS else usual


def _may_be_tag(held: str) -> bool:
    """Whether more letters could make a tag of it."""
    body = held[1:].lstrip().lower()
    if len(body) <= len(_NAME):
        return _NAME.startswith(body)
    rest = body[len(_NAME) :].lstrip()
    return body.startswith(_NAME) and (not rest or rest.startswith(":")) and not held.endswith("]")


def _joined(spaces: str) -> str:
    """The spaces on both sides of a tag as those of one place."""
    lines = spaces.count("\n")
    return "\n" * min(lines, 2) if lines else spaces[:1]
