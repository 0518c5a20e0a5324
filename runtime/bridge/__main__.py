"""Starts the bridge, or a command: ``python -m runtime.bridge --help`` lists the flags."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "export": "runtime.bridge.commands.exports",
    "import": "runtime.bridge.commands.imports",
    "mcp": "runtime.bridge.commands.assistants",
    "reference": "runtime.bridge.commands.references",
    "season": "runtime.bridge.commands.seasons",
    "track": "runtime.bridge.commands.tracks",
}
RECORDING: Final = (None, "export", "import", "season")
"""Those that write telemetry or what it tells, which is nobody else's to read."""
PRIVATE: Final = 0o077
SERVER: Final = "runtime.bridge.server"


def main(argv: Sequence[str]) -> int:
    """Run a command, or the bridge where none is named; the exit code of the process."""
    command = COMMANDS.get(argv[0]) if argv else None
    if (argv[0] if command else None) in RECORDING:
        os.umask(PRIVATE)
    module = importlib.import_module(command or SERVER)
    code: int = module.main(argv[1:] if command else argv)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
