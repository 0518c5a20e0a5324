"""Reads the address of a server; a message about it never repeats what may open the server."""

import re
from collections.abc import Mapping

from yarl import URL


def read_address(text: str, ports: Mapping[str, int], example: str) -> URL:
    """The address with its port, which is of *ports* by scheme where none is given.

    Raises ValueError, whose text shows the *example*.
    """
    wrong = ValueError(f"this is not a valid address; write it as in {example}")
    try:
        url = URL(text)
        (url.host or "").encode("idna")  # what asks for its number does so too
    except ValueError:
        raise wrong from None
    if url.scheme not in ports or not url.host or url.explicit_port == 0 or re.search(r"\s", text):
        raise wrong
    return url.with_port(url.explicit_port or ports[url.scheme])


def place_of(url: URL) -> str:
    """The address for people: without user, password and query."""
    return str(url.with_user(None).with_query(None).with_fragment(None))
