"""What a rendered prompt is, with the ChatML form that needs no template engine."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template of files that have none."""

Pairs = Sequence[Sequence[str]]
"""Role and content of each turn."""


class TemplateFailed(Exception):
    """The template cannot render these messages; the text is for a client."""


class Rendering(NamedTuple):
    """A prompt, and how it goes on behind the last reply."""

    text: str
    after: str | None
    """What follows the content of the last assistant turn; None: it cannot be told apart."""


class Prompter(Protocol):
    """Turns messages into a prompt."""

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        ...

    def close(self) -> None:
        """End what stands behind it."""
        ...


def is_chatml(source: str) -> bool:
    """Whether a template is, up to spelling, the plain ChatML one."""
    plain = source.strip().replace("m['role']", "m.role").replace("m['content']", "m.content")
    return plain == CHATML


class Chatml:
    """Plain ChatML, without a template engine."""

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins."""
        turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages]
        start = "<|im_start|>assistant\n"
        asked = any(role == "user" for role, _ in messages[:-1])
        return Rendering(
            "".join(turns) + start, f"<|im_end|>\n{turns[-1]}{start}" if asked else None
        )

    def close(self) -> None:
        """Nothing stands behind it."""
