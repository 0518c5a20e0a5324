"""Start the language-model server or a command: ``python -m runtime.llm --help`` lists them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from runtime.web.commands import Command, run

COMMANDS: Final[Mapping[str, Command]] = {
    "pull": Command(
        "runtime.llm.commands.pull.command", "pull", "install a model in the models folder"
    ),
    "ingest": Command("runtime.llm.commands.ingest", "ingest", "make a course searchable"),
}


def main(argv: Sequence[str]) -> int:
    """Run a command, or the server if none is named; return the exit code."""
    return run(argv, "llm", COMMANDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
