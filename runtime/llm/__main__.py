"""Starts the language-model server, or a command: ``python -m runtime.llm --help`` lists all."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "pull": "runtime.llm.commands.pull.command",
    "ingest": "runtime.llm.commands.ingest",
}
SERVER: Final = "runtime.llm.server"
INTERRUPTED: Final = 130


def main(argv: Sequence[str]) -> int:
    """Run a command, or the server where none is named; the exit code of the process."""
    try:
        return _run(argv)
    except BrokenPipeError:
        return 0  # who read the output has seen enough, as with ``--help | head``
    except KeyboardInterrupt:  # while it starts: what runs takes its own measures
        return INTERRUPTED
    finally:
        _let_go_of_output()


def _let_go_of_output() -> None:
    """Write what is left; else the interpreter complains when it ends and nobody listens."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return  # closed by whoever started the program


def _run(argv: Sequence[str]) -> int:
    command = COMMANDS.get(argv[0]) if argv else None
    if argv and command is None and argv[0][:1] != "-":
        sys.stderr.write(f"there is no command {argv[0]}; there are {', '.join(COMMANDS)}\n")
        return 2
    # Each imports only its own: the server takes most of a second, which `pull --help` need not.
    module = importlib.import_module(command or SERVER)
    code: int = module.main(argv[1:] if command else argv)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
