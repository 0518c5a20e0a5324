"""How the reader of a message started the tool, so that the message can say what to type."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Final

NAME: Final = "paddock-course"
MODULE: Final = "python -m course"
SCRIPT: Final = "build.py"


def program() -> str:
    """The command as it is typed: that of the distribution, the module, or this repository's."""
    started = Path(sys.argv[0])
    if started.stem == NAME:
        return NAME
    return MODULE if started.parts[-2:] == ("course", "__main__.py") else SCRIPT


def command() -> str:
    """The same as the start of a line for a terminal."""
    name = program()
    if name != SCRIPT:
        return name
    started = sys.argv[0]
    return f"python {quote(started) if Path(started).name == SCRIPT else SCRIPT}"
