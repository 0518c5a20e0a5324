"""Who may call a server: under which host names, from which web pages, and with which key."""

import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from multidict import CIMultiDict, MultiMapping
from pydantic import AfterValidator, SecretStr

from runtime.web.errors import BadHost, CrossSite, Forbidden, Unauthorized

LOOPBACK_ORIGINS: Final = (
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "http://[::1]:*",
    "https://[::1]:*",
)
"""Pages of this machine; ``:*`` stands for any port or none."""

_HOST: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?)(?::(?P<port>\d{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_NAME: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE | re.ASCII)
_ORIGIN: Final = re.compile(
    r"https?://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:(?P<port>\d{1,5}|\*))?"  # of a web page
    r"|(?!https?:)[a-z][a-z0-9+.-]*://[^/\s@,*?#]*(:\*)?"  # of an extension or a program
    r"|\*|null",
    re.IGNORECASE | re.ASCII,
)
_TOKENS: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
_ABSOLUTE: Final = re.compile(r"[^/?#]+://([^/?#]*)")
"""A request target with a scheme and a host, as sent to proxies."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _check_hosts(hosts: list[str]) -> list[str]:
    for host in filter(None, map(str.strip, hosts)):
        if address_of(host) is None and not _NAME.fullmatch(host):
            raise ValueError(
                f"{host!r} is not a host name; write it whole, without a scheme and a port"
            )
    return hosts


def _check_origins(origins: list[str]) -> list[str]:
    named = [origin.strip() for origin in origins if origin.strip()]
    for origin in named:
        match = _ORIGIN.fullmatch(origin)
        if match is None or (match["port"] not in (None, "*") and int(match["port"]) > 65535):
            raise ValueError(
                f"{origin!r} is not an origin; write a scheme, a host and a port, as in"
                " https://example.org:8443, with :* for any port, or * for any origin"
            )
    return named


HostNames = Annotated[list[str], AfterValidator(_check_hosts)]
"""A setting with host names and address literals, without a port."""
Origins = Annotated[list[str], AfterValidator(_check_origins)]
"""A setting with origins as browsers send them, ``:*`` for any port, or ``*`` for any origin."""


@dataclass(frozen=True, slots=True, eq=False)
class HostPolicy:
    """Which callers are admitted, judged by headers that a web page cannot forge.

    DNS rebinding needs a host name, so only known names pass. If the server listens beyond
    loopback, every address literal passes, since forwarded addresses cannot be known.
    """

    names: frozenset[str]
    lan: bool = False
    origins: tuple[str, ...] = ()
    """Origins of other sites that may call: exact, with ``:*`` for the port, or ``*`` for all."""
    pages: frozenset[str] = frozenset()
    """Paths of HTML pages, which links on other sites may open; ``/*``: one level below."""

    @classmethod
    def bound_to(
        cls,
        host: str,
        *,
        allowed_hosts: Iterable[str] = (),
        origins: Sequence[str] = (),
        pages: Iterable[str] = (),
    ) -> Self:
        """Return the policy of a server that listens on *host*."""
        lan = not is_loopback(host)
        names = {"localhost"}
        if lan:
            machine = socket.gethostname().lower().removesuffix(".local")
            names |= {machine, f"{machine}.local", "host.docker.internal"}
        names |= {_plain(name) for name in allowed_hosts if name.strip()}
        return cls(frozenset(names), lan, tuple(o.lower() for o in origins), frozenset(pages))

    def answers_to(self, host: str) -> bool:
        """Whether a ``Host`` header, port included, names this server."""
        match = _HOST.fullmatch(host)
        if match is None or int(match["port"] or 0) > 65535:
            return False
        name = (match["six"] or match["name"]).lower()
        address = address_of(name)
        if name in self.names:
            return True
        if address is None:
            # Some programs read a last label of digits as a short or decimal address.
            return self.lan and name.endswith(".localhost")
        return not address.is_unspecified and (self.lan or address.is_loopback)

    def is_page(self, path: str) -> bool:
        """Whether *path* belongs to an HTML page."""
        return path in self.pages or f"{path.rpartition('/')[0]}/*" in self.pages

    def lists(self, origin: str) -> bool:
        """Whether *origin* is one of the other sites that may call."""
        lowered = origin.lower()
        for entry in self.origins:
            if entry == lowered or (entry == "*" and lowered != "null"):
                return True
            if entry.endswith(":*"):
                rest = lowered.removeprefix(entry[:-2])
                if rest != lowered and re.fullmatch(r"(?::\d{1,5})?", rest):
                    return True
        return False


def find_own_address() -> str | None:
    """Return the address of this machine on the network; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # looks up the route; sends nothing
        except OSError:
            return None
        return str(probe.getsockname()[0])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a bind address."""
    address = address_of(host.lower())
    return host == "localhost" if address is None else address.is_loopback


def refusal(
    policy: HostPolicy,
    headers: MultiMapping[str],
    *,
    method: str,
    path: str,
    target: str = "",
    old_local: bool = False,
) -> Forbidden | None:
    """Return why a request is refused, or None; *old_local* is HTTP/1.0 from this machine.

    *target* is the raw request target: a host in it is checked like the header.
    """
    hosts = headers.getall("Host", [])
    host = hosts[0] if len(hosts) == 1 else ""
    named = [] if old_local and not hosts else [host]
    if absolute := _ABSOLUTE.match(target):
        named.append(absolute[1])
    if not all(map(policy.answers_to, named)):
        return BadHost(
            "this server does not answer to that host name; the setting allowed_hosts adds names"
        )
    # Browsers do not repeat these headers; each value has to pass.
    sites = [site.lower() for site in headers.getall("Sec-Fetch-Site", ())]
    origins = headers.getall("Origin", ())
    if not origins and not sites:
        return None
    others = [origin.lower() for origin in origins if not policy.lists(origin)]
    if origins and not others:
        return None
    own = (f"http://{host}".lower(), f"https://{host}".lower())
    ours = all(origin in own for origin in others)
    if ours and all(site in ("same-origin", "none") for site in sites):
        return None
    opened = headers.getall("Sec-Fetch-Mode", []) == ["navigate"] and method in ("GET", "HEAD")
    if opened and not origins and policy.is_page(path):
        return None
    return CrossSite("web pages of other sites may not call this server")


def cors_headers(
    policy: HostPolicy, origin: str | None, exposed: Sequence[str] = ()
) -> CIMultiDict[str]:
    """Return the headers that let a page of a listed origin read a response."""
    answer: CIMultiDict[str] = CIMultiDict()
    if not policy.origins:
        return answer
    answer["Vary"] = "Origin"
    if origin is not None and policy.lists(origin):
        answer["Access-Control-Allow-Origin"] = origin
        if exposed:
            answer["Access-Control-Expose-Headers"] = ", ".join(exposed)
    return answer


def preflight_headers(policy: HostPolicy, headers: MultiMapping[str]) -> CIMultiDict[str] | None:
    """Return the headers for a preflight of a listed origin; None for any other request."""
    origin = headers.get("Origin")
    if origin is None or "Access-Control-Request-Method" not in headers:
        return None
    if not policy.lists(origin):
        return None
    answer: CIMultiDict[str] = CIMultiDict()
    answer["Access-Control-Allow-Methods"] = "GET, POST, PUT, PATCH, DELETE, OPTIONS, HEAD"
    answer["Access-Control-Max-Age"] = "600"
    wanted = headers.get("Access-Control-Request-Headers", "").strip()
    if _TOKENS.fullmatch(wanted):
        answer["Access-Control-Allow-Headers"] = wanted
    return answer


def _plain(name: str) -> str:
    return name.strip().lower().rstrip(".").strip("[]")


def address_of(name: str) -> Address | None:
    """Parse an address, IPv4 mapped into IPv6 as IPv4; None for a name."""
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


class Bearer:
    """Checks ``Authorization: Bearer <key>``; an empty key admits everyone."""

    __slots__ = ("_digest",)

    def __init__(self, key: str = "") -> None:
        trimmed = key.strip()
        self._digest = _digest(trimmed) if trimmed else None

    @property
    def open(self) -> bool:
        """Whether no key is required."""
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
    """Whether *path* is one of *prefixes* or below one."""
    return any(path == prefix or path.startswith(prefix + "/") for prefix in prefixes)


def check_key(key: SecretStr | None) -> SecretStr | None:
    """Return the setting if it is empty or a key that a header can carry.

    Raises ValueError, without the value: a blank key would leave the server open.
    """
    text = key.get_secret_value() if key else ""
    if text and not text.strip():
        raise ValueError("consists of blanks; leave it empty for a server without a key")
    if any(letter < " " or letter == "\x7f" for letter in text.strip()):
        raise ValueError("holds a line break or a control character, which no header can carry")
    return key


def _digest(text: str) -> bytes:
    # Headers may contain stray bytes, which aiohttp decodes as lone surrogates.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
