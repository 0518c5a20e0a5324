"""Names the client and the tenant of a request from what its headers say about themselves.

Both names are self-declared: they keep cooperating programs apart and protect nobody.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote

ANONYMOUS: Final = "anonymous"
CLIENT_LENGTH: Final = 256
TENANT_LENGTH: Final = 128
_DIGEST_LENGTH: Final = 16
_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_CONTROL: Final = ("Cc", "Zl", "Zp")
_ESCAPED: Final = 0xDC00
"""Python decodes a byte that is not UTF-8 as this code point plus the byte."""
_LAST_CONTROL: Final = 0xA0


def client_id(user_agent: str | None) -> str:
    """The client of a request: its User-Agent without control characters, 256 characters at most.

    Used for the rate limit, the metrics and, through `header_safe`, the header ``X-Client-Id``.
    """
    clean = _clean(user_agent or "")[:CLIENT_LENGTH]
    return clean if clean.strip() else ANONYMOUS


@lru_cache(maxsize=256)
def tenant_id(x_client_id: str | None, user_agent: str | None) -> str:
    """The tenant of a request: the first header that is not blank, folded; at most 128 characters.

    Case and the width of blanks do not matter. A longer name keeps its first 111 characters and
    ends in ``~`` and 16 hex digits of its SHA-256, so that two long names stay two tenants.
    """
    return named_tenant(x_client_id or "") or named_tenant(user_agent or "") or ANONYMOUS


def addressed_client(headers: Mapping[str, str], remote: str | None) -> str:
    """A tenant at one network address: whose prompts may share a cached beginning, and who has a
    share of the encoders.

    How soon a reply begins tells whether a prompt was cached. What a client says of itself is not
    enough to let it learn that of another machine's prompts.
    """
    tenant = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    return f"{remote or ''} {tenant}"


def named_tenant(text: str) -> str | None:
    """The tenant that a text names, folded as in `tenant_id`; None for a blank one."""
    folded = _fold(text)
    if not folded:
        return None
    if len(folded) <= TENANT_LENGTH:
        return folded
    digest = hashlib.sha256(folded.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{folded[: TENANT_LENGTH - _DIGEST_LENGTH - 1]}~{digest}"


def header_safe(name: str) -> str:
    """A name as a header value: plain ASCII as it is, else percent-encoded UTF-8 for the rest.

    A name that had to be encoded has its ``%`` encoded too, so that decoding gives it back.
    """
    clean = _clean(name)
    return clean if clean.isascii() else quote(clean, safe=_PRINTABLE.replace("%", ""))


def plain_text(text: str) -> bool:
    """Whether a text has no control character, line break or half of a character."""
    return _clean(text) == text


def _clean(text: str) -> str:
    """Without control characters and line breaks; bytes that were no UTF-8 stay apart."""
    if text.isprintable():  # as almost every name
        return text
    return "".join(
        _undecodable(c) if unicodedata.category(c) == "Cs" else c
        for c in text
        if unicodedata.category(c) not in _CONTROL
    )


def _undecodable(half: str) -> str:
    """A byte that was no UTF-8, as Latin-1 has it: some programs write their headers so.

    Bytes that are control characters there are spelled out, so that no two names become one.
    """
    byte = ord(half) - _ESCAPED
    if not 0x80 <= byte <= 0xFF:
        return "\ufffd"
    return chr(byte) if byte > _LAST_CONTROL else f"\ufffd{byte:02X}"


def _fold(text: str) -> str:
    """Lower case, one space between words; a tab or line break parts words like a space."""
    words = " ".join(text.split())
    return " ".join(_clean(words).lower().split())
