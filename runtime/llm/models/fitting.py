"""Refuses settings that could never work, in words that follow the name of the setting."""

import re
from typing import Final

from pydantic import SecretStr

from runtime.llm.values import SYSTEM_MODEL
from runtime.web.hosts import may_be_host

_ORIGIN: Final = re.compile(
    r"https?://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:(\d{1,5}|\*))?"  # of a web page
    r"|(?!https?:)[a-z][a-z0-9+.-]*://[^/\s@,*]*(:\*)?"  # of an extension or a program
    r"|\*|null",
    re.IGNORECASE | re.ASCII,
)


def not_blank(given: object) -> object:
    """A path as it was given; raises ValueError for one that names nothing."""
    if isinstance(given, str) and (not given.strip() or "\0" in given):
        raise ValueError("must name a folder")
    return given


def fitting_key(given: SecretStr | None) -> SecretStr | None:
    """A key that a header can carry. Raises ValueError: a key of blanks would leave the door open.

    The value is in no message.
    """
    key = given.get_secret_value() if given else ""
    if key and not key.strip():
        raise ValueError("holds blanks only; leave it empty for a server without a key")
    if any(letter < " " or letter == "\x7f" for letter in key.strip()):
        raise ValueError("holds a line break or a control character, which no header can carry")
    return given


def fitting_origin(given: list[str]) -> list[str]:
    """Origins as browsers send them. Raises ValueError, which shows the first that is none."""
    for origin in given:
        if origin.strip() and not _ORIGIN.fullmatch(origin.strip()):
            raise ValueError(
                f"{origin!r} is no origin; write a scheme, a host and a port, as in"
                " https://example.org:8443, with :* for any port, or * for any origin"
            )
    return [origin.strip() for origin in given if origin.strip()]


def fitting_host(given: list[str]) -> list[str]:
    """Names that a Host header can have. Raises ValueError, which shows the first that is none."""
    for host in given:
        if host.strip() and not may_be_host(host.strip()):
            raise ValueError(
                f"{host!r} is no host name; write it whole, without a scheme and a port"
            )
    return given


def fitting_model(given: str) -> str:
    """The id of a model, trimmed; a blank one is the default. Raises ValueError for a path."""
    name = given.strip()
    if name.startswith(".") or set(name) & set("/\\\0"):
        raise ValueError("must be an id of GET /v1/models, not a path")
    return name or SYSTEM_MODEL
