"""Starts the bridge, or a command: ``python -m runtime.bridge --help`` lists the flags."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "import": "runtime.bridge.imports.command",
    "reference": "runtime.bridge.analysis_command",
    "track": "runtime.bridge.tracks.command",
}
SERVER: Final = "runtime.bridge.server"


def main(argv: Sequence[str]) -> int:
    """Run a command, or the bridge where none is named; the exit code of the process."""
    command = COMMANDS.get(argv[0]) if argv else None
    module = importlib.import_module(command or SERVER)
    code: int = module.main(argv[1:] if command else argv)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
