"""The command line of a server: which module runs, and what happens to closed output."""

import importlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from runtime.places import name_program

INTERRUPTED: Final = 130
"""The exit code of a program stopped by Ctrl-C."""


class Command(NamedTuple):
    """A command of a server."""

    module: str
    """Its ``main`` takes the words behind the name of the command."""
    usage: str
    about: str


def run(argv: Sequence[str], server: str, commands: Mapping[str, Command]) -> int:
    """Run the command in *argv*, or the server ``bridge`` or ``llm``; return the exit code."""
    try:
        return _run(argv, server, commands)
    except BrokenPipeError:
        return 0  # the reader closed the pipe, as in ``--help | head``
    except KeyboardInterrupt:  # during the start; a running server handles it itself
        return INTERRUPTED
    finally:
        _let_go_of_output()


def _run(argv: Sequence[str], server: str, commands: Mapping[str, Command]) -> int:
    command = commands.get(argv[0]) if argv else None
    if argv and command is None and argv[0][:1] != "-":
        sys.stderr.write(f"there is no command {argv[0]}; there are {', '.join(commands)}\n")
        return 2
    # Import only what is needed: a server takes most of a second, `pull --help` should not.
    module = importlib.import_module(command.module if command else f"runtime.{server}.server")
    try:
        code: int = module.main(argv[1:] if command else argv)
    except SystemExit as leaving:
        if command is None and not leaving.code:  # the flags of the server were printed
            sys.stdout.write(_listing(name_program(server), commands.values()))
        raise
    return code


def _listing(program: str, commands: Collection[Command]) -> str:
    width = max(len(command.usage) for command in commands)
    lines = [f"  {program} {usage:{width}}  {about}\n" for _, usage, about in commands]
    return "\ncommands:\n" + "".join(lines) + "Each explains itself with --help.\n"


def _let_go_of_output() -> None:
    """Flush the output; otherwise the interpreter complains at exit if it is closed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return  # closed by the parent process
