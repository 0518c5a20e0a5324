"""Asking other hosts, politely, whether an address still leads to a page."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp

_AGENT: Final = "paddock-link-check/1.0"
_ASK_AGAIN: Final = frozenset({403, 405, 501})
# The host is there and the page may be: it only does not want to talk to programs, or not now.
_RESERVED: Final = frozenset({401, 403, 429})


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard to ask; *delay_s* lies between the starts of two requests to one host."""

    workers: int = 8
    delay_s: float = 0.5
    timeout_s: float = 15.0
    redirects: int = 8
    schemes: tuple[str, ...] = ("https://",)


class Answer(NamedTuple):
    """Whether an address is good, and in a few words why not."""

    good: bool
    why: str = ""


@dataclass(slots=True)
class _Hosts:
    """Gives each request the time at which its host may be asked."""

    delay_s: float
    next_start: dict[str, float] = field(default_factory=dict)

    async def turn(self, url: str) -> None:
        """Wait until the host of *url* may be asked again."""
        host = urlsplit(url).netloc.lower()
        now = time.monotonic()
        start = max(now, self.next_start.get(host, now))
        self.next_start[host] = start + self.delay_s
        await asyncio.sleep(start - now)


async def probe(urls: list[str], limits: Limits) -> dict[str, Answer]:
    """The answer for each of *urls*: HEAD first, and GET where the host refuses that."""
    answers: dict[str, Answer] = {}
    waiting = list(reversed(urls))
    hosts = _Hosts(limits.delay_s)
    timeout = aiohttp.ClientTimeout(total=limits.timeout_s)
    headers = {"User-Agent": _AGENT, "Accept": "*/*"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:

        async def work() -> None:
            while waiting:
                url = waiting.pop()
                answers[url] = await _ask(session, url, hosts, limits)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(limits.workers, len(urls))):
                group.create_task(work())
    return answers


async def _ask(session: aiohttp.ClientSession, url: str, hosts: _Hosts, limits: Limits) -> Answer:
    status = 0
    for method in ("HEAD", "GET"):
        try:
            await hosts.turn(url)
            async with session.request(method, url, max_redirects=limits.redirects) as response:
                status = response.status
        except TimeoutError:
            return Answer(False, f"no answer within {limits.timeout_s:g} s")
        except aiohttp.TooManyRedirects:
            return Answer(False, f"more than {limits.redirects} redirects")
        except (aiohttp.ClientError, ValueError, OSError) as error:
            return Answer(False, _in_words(error))
        if status not in _ASK_AGAIN:
            break
    return Answer(status < 400 or status in _RESERVED, f"status {status}")


def _in_words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host is unknown"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "the certificate is not valid"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__
