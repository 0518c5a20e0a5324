"""The line of a command: its own flags, those of the server, and its exit code."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from runtime.bridge.settings import PROGRAM, BridgeSettings

WRONG_USE: Final = 2


def make_parser(name: str, description: str, examples: str = "") -> argparse.ArgumentParser:
    """The parser of a command, to which its own arguments are added."""
    return argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def lake_place(text: str) -> str:
    """The place of a lake: a folder's whole path, or an address; what argparse calls."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty place; name a folder or an address")
    return text if "://" in text else str(Path(text).absolute())


def read_line(
    parser: argparse.ArgumentParser, argv: Sequence[str], shown: Collection[str]
) -> tuple[argparse.Namespace, BridgeSettings]:
    """What a command is told, and the settings of the server; see `_add_server_flags`."""
    _add_server_flags(parser, shown)
    chosen, rest = parser.parse_known_args(argv)
    return chosen, BridgeSettings.load([*chosen.server, *rest], os.environ)


def run_work(name: str, work: Callable[[], int], *problems: type[Exception]) -> int:
    """The exit code of *work*; one of *problems* is told on a line. Only errors are logged."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    try:
        return work()
    except problems as problem:
        sys.stderr.write(f"{name}: {problem}\n")
        return WRONG_USE


def write_line(text: str) -> None:
    """Tell a line at once, into a pipe too."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _add_server_flags(parser: argparse.ArgumentParser, shown: Collection[str]) -> None:
    """Let *parser* know which flags of the server take a value; those given are in ``server``.

    A flag that the command has for itself stays its own. ``--help`` lists the settings in *shown*.
    """
    parser.set_defaults(server=[])
    text = f"all others of {PROGRAM} --help are taken too"
    group = parser.add_argument_group("flags of the server", text)
    for name, field in BridgeSettings.model_fields.items():
        flag = name.replace("_", "-")
        if field.annotation is SecretStr:
            continue
        switch = field.annotation is bool
        with suppress(argparse.ArgumentError):  # the command has one of that name
            group.add_argument(
                *((f"--{flag}", f"--no-{flag}") if switch else (f"--{flag}",)),
                dest="server",
                action=_PassOn,
                nargs=0 if switch else None,
                metavar=None if switch else flag.rpartition("-")[2].upper(),
                help=field.description if name in shown else argparse.SUPPRESS,
            )


class _PassOn(argparse.Action):
    """Keeps a flag as it was given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Put it after those before."""
        value = [values] if isinstance(values, str) else []
        namespace.server = [*namespace.server, option_string or "", *value]
