"""How the reader of a message started the tool, so that the message can say what to type."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

NAME: Final = "paddock-course"


def program() -> str:
    """The command as it is typed: the one of the distribution, or the script of this repository."""
    return NAME if Path(sys.argv[0]).stem == NAME else "build.py"


def command() -> str:
    """The same as the start of a line for a terminal."""
    return NAME if program() == NAME else "python build.py"
