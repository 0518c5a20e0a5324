"""The command line of commands: their own flags, those of the server, and exit codes."""

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
    """Make the parser of a command, to which the command adds its arguments."""
    return argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def parse_place(text: str) -> str:
    """Parse the place of a lake, an absolute path or an address, for argparse."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the place is empty; name a folder or an address")
    return text if "://" in text else str(Path(text).absolute())


def read_line(
    parser: argparse.ArgumentParser, argv: Sequence[str], shown: Collection[str]
) -> tuple[argparse.Namespace, BridgeSettings]:
    """Read a command's arguments and the settings of the server; see `_add_server_flags`."""
    _add_server_flags(parser, shown)
    chosen, rest = parser.parse_known_args(argv)
    return chosen, BridgeSettings.load([*chosen.server, *rest], os.environ)


def run_work(name: str, work: Callable[[], int], *problems: type[Exception]) -> int:
    """Run *work* and return its exit code, printing *problems* as a line. Only logs errors."""
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    try:
        return work()
    except problems as problem:
        sys.stderr.write(f"{name}: {problem}\n")
        return WRONG_USE


def write_line(text: str) -> None:
    """Print a line immediately, even into a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _add_server_flags(parser: argparse.ArgumentParser, shown: Collection[str]) -> None:
    """Add the flags of the server to *parser*, which collects them in ``server``.

    The command's own flags take precedence. ``--help`` lists only the settings in *shown*.
    """
    parser.set_defaults(server=[])
    text = f"all other flags of {PROGRAM} --help are accepted too"
    group = parser.add_argument_group("flags of the server", text)
    for name, field in BridgeSettings.model_fields.items():
        flag = name.replace("_", "-")
        if field.annotation is SecretStr:
            continue
        switch = field.annotation is bool
        with suppress(argparse.ArgumentError):  # the command has its own flag of that name
            group.add_argument(
                *((f"--{flag}", f"--no-{flag}") if switch else (f"--{flag}",)),
                dest="server",
                action=_PassOn,
                nargs=0 if switch else None,
                metavar=None if switch else flag.rpartition("-")[2].upper(),
                help=field.description if name in shown else argparse.SUPPRESS,
            )


class _PassOn(argparse.Action):
    """Collects a flag as it was written."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Append the flag and its value."""
        value = [values] if isinstance(values, str) else []
        namespace.server = [*namespace.server, option_string or "", *value]
