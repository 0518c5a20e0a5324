"""The child's side of a conversation in JSON lines: one answer for each command, until the end."""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping

Fields = dict[str, object]
Handler = Callable[[Fields], "Fields | Awaitable[Fields]"]


def number(fields: Fields, name: str) -> int:
    """A whole number of a command; raises TypeError for anything else."""
    value = fields[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value


def text(fields: Fields, name: str) -> str:
    """A text of a command; raises TypeError for anything else."""
    value = fields[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


async def converse(handlers: Mapping[str, Handler]) -> None:
    """Answer the commands on standard input; what is printed meanwhile goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command: Fields = json.loads(line)
            answer = handlers[text(command, "do")](command)
            told = await answer if inspect.isawaitable(answer) else answer
            answers.write(json.dumps(told) + "\n")
            answers.flush()


def serve(handlers: Mapping[str, Handler]) -> None:
    """`converse` in an event loop of its own."""
    asyncio.run(converse(handlers))
