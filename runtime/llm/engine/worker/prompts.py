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


PROBLEM: Final = "template: "
"""Begins the reason of a job whose messages the chat template could not turn into a prompt."""


class TemplateBroken(Exception):
    """The template does not compile; the text says why."""


class TemplateFailed(Exception):
    """The template cannot render these messages; the text begins with `PROBLEM`."""


def refused(words: str) -> TemplateFailed:
    """The template itself raised an error over the messages, in its own *words*."""
    return TemplateFailed(f"{PROBLEM}the model's chat template refused these messages: {words}")


def unrenderable(why: str) -> TemplateFailed:
    """The fault lies in the template, or in what it needs."""
    return TemplateFailed(f"{PROBLEM}the model's chat template cannot be rendered: {why}")


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
