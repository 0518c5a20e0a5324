"""The optional bearer key of a server."""

import hashlib
import hmac

from pydantic import SecretStr

from runtime.web.errors import Unauthorized


class Bearer:
    """Checks ``Authorization: Bearer <key>``; with an empty key everything is open."""

    __slots__ = ("_digest",)

    def __init__(self, key: str = "") -> None:
        trimmed = key.strip()
        self._digest = _digest(trimmed) if trimmed else None

    @property
    def open(self) -> bool:
        """Whether no key is asked for."""
        return self._digest is None

    def check(self, authorization: str | None) -> None:
        """Raise `Unauthorized` unless the header carries the key."""
        if self._digest is not None and not self.accepts(authorization):
            raise Unauthorized(
                "a valid API key is needed: Authorization: Bearer <key>",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def accepts(self, authorization: str | None) -> bool:
        """Whether the header carries the key; compared in constant time."""
        scheme, _, offered = (authorization or "").partition(" ")
        fits = hmac.compare_digest(_digest(offered.strip()), self._digest or b"")
        return fits and scheme.lower() == "bearer"


def under(path: str, prefixes: tuple[str, ...]) -> bool:
    """Whether *path* is one of *prefixes* or lies below one."""
    return any(path == prefix or path.startswith(prefix + "/") for prefix in prefixes)


def check_key(key: SecretStr | None) -> SecretStr | None:
    """The setting, if it is a key that a header can carry or none at all.

    Raises ValueError, without the value: a key of blanks would leave the server open.
    """
    text = key.get_secret_value() if key else ""
    if text and not text.strip():
        raise ValueError("consists of blanks; leave it empty for a server without a key")
    if any(letter < " " or letter == "\x7f" for letter in text.strip()):
        raise ValueError("holds a line break or a control character, which no header can carry")
    return key


def _digest(text: str) -> bytes:
    # Headers may hold stray bytes, which aiohttp hands over as half surrogates.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
