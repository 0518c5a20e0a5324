"""Client and tenant of a request, derived from its headers.

Both names are self-declared: they separate cooperating programs but protect nobody.
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
    """The client of a request: its User-Agent without control characters, at most 256 characters.

    Used for the rate limit, the metrics and, through `escape_header`, the header ``X-Client-Id``.
    """
    clean = _clean(user_agent or "")[:CLIENT_LENGTH]
    return clean if clean.strip() else ANONYMOUS


@lru_cache(maxsize=256)
def tenant_id(x_client_id: str | None, user_agent: str | None) -> str:
    """The tenant of a request: the first non-blank header, folded, at most 128 characters.

    Case and the width of white space do not matter. A longer name keeps its first 111 characters,
    followed by ``~`` and 16 hex digits of its SHA-256, so that long names stay distinct.
    """
    return parse_tenant(x_client_id or "") or parse_tenant(user_agent or "") or ANONYMOUS


def identify_client(headers: Mapping[str, str], remote: str | None) -> str:
    """A tenant at one network address: prompts share cached prefixes only within it, and encoders
    are shared fairly between them.

    The delay of a reply reveals whether its prompt was cached. A self-declared name must not be
    enough to learn that about another machine's prompts.
    """
    tenant = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    return f"{remote or ''} {tenant}"


def parse_tenant(text: str) -> str | None:
    """The tenant that a text names, folded as in `tenant_id`; None for a blank text."""
    folded = _fold(text)
    if not folded:
        return None
    if len(folded) <= TENANT_LENGTH:
        return folded
    digest = hashlib.sha256(folded.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{folded[: TENANT_LENGTH - _DIGEST_LENGTH - 1]}~{digest}"


def escape_header(name: str) -> str:
    """A name as a header value: ASCII unchanged, other characters as percent-encoded UTF-8.

    If anything is encoded, ``%`` is encoded too, so that decoding restores the name.
    """
    clean = _clean(name)
    return clean if clean.isascii() else quote(clean, safe=_PRINTABLE.replace("%", ""))


def is_plain_text(text: str) -> bool:
    """Whether a text has no control characters, line breaks or lone surrogates."""
    return _clean(text) == text


def _clean(text: str) -> str:
    """Remove control characters and line breaks; bytes that are not UTF-8 stay distinct."""
    if text.isprintable():  # the usual case
        return text
    return "".join(
        _decode_byte(c) if unicodedata.category(c) == "Cs" else c
        for c in text
        if unicodedata.category(c) not in _CONTROL
    )


def _decode_byte(half: str) -> str:
    """Decode a byte that is not UTF-8 as Latin-1, which some programs use in headers.

    Bytes that are control characters there are spelled out, so that names stay distinct.
    """
    byte = ord(half) - _ESCAPED
    if not 0x80 <= byte <= 0xFF:
        return "\ufffd"
    return chr(byte) if byte > _LAST_CONTROL else f"\ufffd{byte:02X}"


def _fold(text: str) -> str:
    """Lower the case and collapse white space, tabs and line breaks included, to single spaces."""
    words = " ".join(text.split())
    return " ".join(_clean(words).lower().split())
