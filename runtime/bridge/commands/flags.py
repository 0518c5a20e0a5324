"""Flags of the server on the line of another command, which hands them on."""

import argparse
from collections.abc import Collection
from contextlib import suppress

from pydantic import SecretStr

from runtime.bridge.settings import PROGRAM, BridgeSettings


def add_server_flags(parser: argparse.ArgumentParser, shown: Collection[str]) -> None:
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
