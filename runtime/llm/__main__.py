"""Starts the language-model server, or a command: ``python -m runtime.llm --help`` lists all."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "pull": "runtime.llm.pull.command",
    "ingest": "runtime.llm.ingest.command",
}
SERVER: Final = "runtime.llm.server"


def main(argv: Sequence[str]) -> int:
    """Run a command, or the server where none is named; the exit code of the process."""
    command = COMMANDS.get(argv[0]) if argv else None
    # Each imports only its own: the server takes most of a second, which `pull --help` need not.
    module = importlib.import_module(command or SERVER)
    code: int = module.main(argv[1:] if command else argv)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
