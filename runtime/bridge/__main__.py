"""Starts the bridge, or a command: ``python -m runtime.bridge --help`` lists the flags."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "export": "runtime.bridge.commands.exports",
    "import": "runtime.bridge.commands.imports",
    "mcp": "runtime.bridge.commands.assistants",
    "reference": "runtime.bridge.commands.references",
    "season": "runtime.bridge.commands.seasons",
    "track": "runtime.bridge.commands.tracks",
}
EXTRAS: Final[Mapping[str, str]] = {"mcp": "mcp"}
"""Extras that commands need, which are called like their packages."""
RECORDING: Final = (None, "export", "import", "season")
"""Those that write telemetry or what it tells, which is nobody else's to read."""
PRIVATE: Final = 0o077
INTERRUPTED: Final = 130
SERVER: Final = "runtime.bridge.server"


def main(argv: Sequence[str]) -> int:
    """Run a command, or the bridge where none is named; the exit code of the process."""
    command = COMMANDS.get(argv[0]) if argv else None
    if argv and command is None and argv[0][:1] != "-":
        sys.stderr.write(f"there is no command {argv[0]}; there are {', '.join(COMMANDS)}\n")
        return 2
    if (argv[0] if command else None) in RECORDING:
        os.umask(PRIVATE)
    extra = EXTRAS.get(argv[0]) if command else None
    if extra is not None and find_spec(extra) is None:
        sys.stderr.write(f"{argv[0]}: install the extra {extra} (pip install {extra})\n")
        return 2
    try:
        module = importlib.import_module(command or SERVER)
        code: int = module.main(argv[1:] if command else argv)
    except KeyboardInterrupt:  # while it starts: what runs takes its own measures
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
