"""What the managed system model needs of an engine: one model file in a process of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from runtime.llm.values import Generation, Sampling, Turn


class TextEngine(Protocol):
    """One model file, loaded in a process of its own."""

    async def start(self) -> None:
        """Load the file and open a context. Raises `runtime.llm.errors.LocalInitFailed`."""
        ...

    async def generate(
        self,
        turns: Sequence[Turn],
        sampling: Sampling,
        max_output: int | None,
        max_total: int | None,
    ) -> Generation:
        """The reply, once the prompt is tokenized.

        Raises `runtime.llm.errors.PromptTooLong` or `runtime.llm.errors.EngineFailed`.
        """
        ...

    async def close(self) -> None:
        """End the process."""
        ...


EngineFactory = Callable[[Path, int], TextEngine]
"""Makes an engine that is not started yet from a file and a context size in tokens."""
