"""Starts the bridge, or a command: ``python -m runtime.bridge --help`` lists the flags."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from runtime.web.commands import Command, run

COMMANDS: Final[Mapping[str, Command]] = {
    "import": Command(
        "runtime.bridge.commands.imports", "import FILE...", "make sessions of recorded files"
    ),
    "track": Command(
        "runtime.bridge.commands.tracks",
        "track build FILE",
        "make a track file from a lap or a centreline",
    ),
    "reference": Command(
        "runtime.bridge.commands.references",
        "reference SESSION",
        "make a lap the reference of its circuit",
    ),
    "export": Command(
        "runtime.bridge.commands.exports", "export --lake DIR", "write sessions as parquet files"
    ),
    "season": Command(
        "runtime.bridge.commands.seasons",
        "season --lake DIR",
        "see what the sessions of a lake show together",
    ),
    "mcp": Command("runtime.bridge.commands.assistants", "mcp", "let an assistant read sessions"),
}
EXTRAS: Final[Mapping[str, str]] = {"mcp": "mcp"}
"""Extras that commands need; each has the name of its package."""
RECORDING: Final = (None, "export", "import", "season")
"""Commands that write telemetry or results, which other users must not read."""
PRIVATE: Final = 0o077


def main(argv: Sequence[str]) -> int:
    """Run the named command, else the bridge; return the exit code."""
    name = argv[0] if argv and argv[0] in COMMANDS else None
    if name in RECORDING:
        os.umask(PRIVATE)
    extra = EXTRAS.get(name or "")
    if extra is not None and find_spec(extra) is None:
        sys.stderr.write(f"{name}: install the extra {extra} (pip install {extra})\n")
        return 2
    return run(argv, "bridge", COMMANDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
