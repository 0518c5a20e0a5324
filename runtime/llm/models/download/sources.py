"""Opens the place that a model file is downloaded from, at any byte, under strict rules."""

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import aiohttp

from runtime.llm.models.download.addresses import (
    GuardedResolver,
    Rule,
    as_ip,
    is_local_name,
    loopback,
    public,
    reachable,
)
from runtime.llm.models.download.threads import in_thread

MAX_REDIRECTS = 5
_CHUNK = 1 << 18
_CONNECT_S = 10.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class TransferFailed(Exception):
    """A transfer cannot go on; `reason` is one machine word, the text is for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True)
class Opened:
    """A source that delivers bytes from `offset` on."""

    offset: int
    """What was asked for, or 0 where the source starts over."""
    validator: str | None
    """Names this version of the source; only the same one may be resumed."""
    total: int | None
    chunks: AsyncIterator[bytes]


def check_source(url: str) -> str:
    """*url* if a model may come from there.

    Raises `ValueError` with a text for the reader of the settings otherwise.
    """
    split = urlsplit(url)
    host = split.hostname or ""
    if split.username or split.password:
        raise ValueError("must not hold a user name or password")
    if split.scheme == "file" and host in ("", "localhost") and split.path.startswith("/"):
        return url
    literal = as_ip(host)
    if split.scheme == "https" and host and (literal is None or _ordinary(host)):
        return url
    if split.scheme == "http" and is_local_name(host):
        return url
    raise ValueError("must be an https address, a file:///path, or http to this machine")


@asynccontextmanager
async def open_source(
    url: str, offset: int, validator: str | None, stall_s: float
) -> AsyncIterator[Opened]:
    """Open *url* at *offset* if it is still the version *validator*, else at 0.

    Raises `TransferFailed`, `TimeoutError` and what the network raises.
    """
    check_source(url)
    opener = _open_file if urlsplit(url).scheme == "file" else _open_http
    async with opener(url, offset, validator, stall_s) as opened:
        yield opened


@asynccontextmanager
async def _open_file(
    url: str, offset: int, validator: str | None, stall_s: float
) -> AsyncIterator[Opened]:
    del stall_s  # a disk has no bound that could be enforced
    path = Path(url2pathname(urlsplit(url).path))
    try:
        file = await in_thread(path.open, "rb")
    except OSError:
        raise TransferFailed("source_missing", "the source file cannot be opened") from None
    with file:
        info = await in_thread(os.fstat, file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise TransferFailed("source_missing", "the source is not a file")
        version = f"{info.st_mtime_ns}-{info.st_size}"
        start = offset if validator == version else 0
        await in_thread(file.seek, start)

        async def chunks() -> AsyncIterator[bytes]:
            while data := await in_thread(file.read, _CHUNK):
                yield data

        yield Opened(start, version, info.st_size, chunks())


@asynccontextmanager
async def _open_http(
    url: str, offset: int, validator: str | None, stall_s: float
) -> AsyncIterator[Opened]:
    resolver = GuardedResolver(loopback if is_local_name(_host(url)) else reachable)
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=resolver, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=stall_s),
    )
    headers = {"Accept-Encoding": "identity"}
    if offset and validator is not None:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    async with session, AsyncExitStack() as stack:
        response = await _follow(session, stack, resolver, url, headers)
        yield _opened(response, offset, stall_s)


async def _follow(
    session: aiohttp.ClientSession,
    stack: AsyncExitStack,
    resolver: GuardedResolver,
    url: str,
    headers: dict[str, str],
) -> aiohttp.ClientResponse:
    """The first answer that is no redirect, each hop checked before it is made."""
    first = url
    for _ in range(MAX_REDIRECTS + 1):
        request = session.get(url, headers=headers, allow_redirects=False)
        response = await stack.enter_async_context(request)
        if response.status not in (301, 302, 303, 307, 308):
            return response
        url = urljoin(url, response.headers.get("Location", ""))
        resolver.rule = check_hop(first, url)
        response.close()
    raise TransferFailed("redirect_refused", f"more than {MAX_REDIRECTS} redirects")


def check_hop(first: str, hop: str) -> Rule:
    """The rule for addresses behind *hop*, a redirect on the way from *first*.

    A machine on the internet must not send us to one on this network. Raises `TransferFailed`.
    """
    local = is_local_name(_host(first))
    if local and is_local_name(_host(hop)) and urlsplit(hop).scheme in ("http", "https"):
        return loopback
    rule = reachable if _host(hop) == _host(first) else public
    literal = as_ip(_host(hop))
    named = _host(hop) != "" and not is_local_name(_host(hop))
    if urlsplit(hop).scheme != "https" or not named or (literal and not rule(literal)):
        raise TransferFailed("redirect_refused", "the source redirects to a place not permitted")
    return rule


def _opened(response: aiohttp.ClientResponse, offset: int, stall_s: float) -> Opened:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise TransferFailed("http_error", "the source sends compressed bytes")
    if response.status == 200:
        start, total = 0, response.content_length
    elif response.status == 206 and (found := _RANGE.fullmatch(_header(response, "Content-Range"))):
        start, total = int(found[1]), None if found[2] == "*" else int(found[2])
        if start != offset:
            raise TransferFailed("http_error", "the source sent another range than was asked for")
    elif response.status == 416:
        raise TransferFailed("range_refused", "the source cannot continue the download")
    else:
        raise TransferFailed("http_error", f"the source answered with status {response.status}")
    return Opened(start, _validator(response), total, _body(response, stall_s))


async def _body(response: aiohttp.ClientResponse, stall_s: float) -> AsyncIterator[bytes]:
    while True:
        async with asyncio.timeout(stall_s):
            data = await response.content.readany()
        if not data:
            return
        yield data


def _validator(response: aiohttp.ClientResponse) -> str | None:
    """A strong entity tag, else the date; weak tags do not promise equal bytes."""
    tag = _header(response, "ETag")
    return tag if tag.startswith('"') else _header(response, "Last-Modified") or None


def _header(response: aiohttp.ClientResponse, name: str) -> str:
    return response.headers.get(name, "").strip()


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _ordinary(host: str) -> bool:
    literal = as_ip(host)
    return literal is None or reachable(literal)
