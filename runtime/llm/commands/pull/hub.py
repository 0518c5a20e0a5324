"""Finds a file of a model hub: ``hf:owner/repo:file`` becomes an address with its checksum."""

import asyncio
import re
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from runtime.llm.commands.pull.fetch import Misused, Origin, PullFailed, say
from runtime.llm.models.download import TransferFailed, ask_head

SCHEME: Final = "hf:"
_PLACE: Final = re.compile(
    r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[^:?#\\]+)"
)
_SHA256: Final = re.compile(r'"?([0-9a-f]{64})"?')


def find(origin: Origin, hub: str, token: str) -> Origin:
    """Where the file lies on the *hub*, and what that says of it; what the user gave counts more.

    Raises `Misused` for what names no file, `PullFailed` where the hub does not answer.
    """
    place = _PLACE.fullmatch(origin.given)
    if place is None or ".." in place["file"].split("/"):
        raise Misused(f"{origin.shown} names no file of a hub: hf:owner/repo:file.gguf")
    path = f"{place['repo']}/resolve/{place['revision'] or 'main'}/{quote(place['file'])}"
    address = f"{hub.rstrip('/')}/{path}"
    located = replace(origin, given=address, label=origin.given, token=token)
    try:
        headers = asyncio.run(ask_head(located.url, token, ("X-Linked-Etag", "X-Linked-Size")))
    except TransferFailed as failure:
        hint = "; is its repository private or gated? HF_TOKEN may hold a token"
        refused = failure.reason == "http_error" and re.search("40[134]$", str(failure))
        raise PullFailed(f"{origin.shown}: {failure}{hint if refused else ''}") from None
    named = _SHA256.fullmatch(headers["X-Linked-Etag"])
    size = headers["X-Linked-Size"]
    if origin.sha256 is None:
        if named is None:
            raise Misused(f"the hub names no SHA-256 of {origin.shown}; give it with --sha256 HEX")
        say(f"checksum as the hub names it: {named[1]}")
        located = replace(located, sha256=named[1])
    if origin.size is None and size.isdecimal():
        located = replace(located, size=int(size))
    return located
