"""Download a model file under strict rules, resuming earlier attempts."""

import asyncio
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import aiohttp

from runtime.llm.models.addresses import (
    GuardedResolver,
    Rule,
    is_local_name,
    is_loopback,
    is_public,
    is_reachable,
    make_session,
)
from runtime.web.access import address_of
from runtime.web.instance import move_into_place

P = ParamSpec("P")
T = TypeVar("T")

MAX_REDIRECTS: Final = 5
NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
_MOVED: Final = (301, 302, 303, 307, 308)
_CHUNK: Final = 1 << 20
_READ: Final = 1 << 18
_HASHED_AT_ONCE: Final = 1 << 24
_CONNECT_S: Final = 10.0
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class TransferFailed(Exception):
    """A transfer failed; `reason` is a code word, the text is for people."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Source(NamedTuple):
    """The file to download."""

    url: str
    sha256: str
    size: int
    token: str = ""
    """Sent only to the host of `url`."""


class Pace(NamedTuple):
    """Limits on the speed of a transfer."""

    stall_s: float = 120.0
    """Seconds without data after which the transfer fails."""
    bytes_per_s: int | None = None
    """None: unlimited."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True)
class Opened:
    """An open source that delivers bytes from `offset` on."""

    offset: int
    """The requested offset, or 0 if the source starts over."""
    validator: str | None
    """Identifies the version of the source; only the same version may be resumed."""
    total: int | None
    chunks: AsyncIterator[bytes]


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run *work* in a thread; a cancelled caller waits until the thread has finished."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it
        raise


def count_free_bytes(folder: Path) -> int:
    """Free bytes on the disk where *folder* is or will be. Raises `OSError`."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def add_margin(size: int) -> int:
    """Add a margin of 5 % to the size of a download."""
    return size + size // 20


def lacks_room(target: Path, size: int) -> bool:
    """Whether the disk lacks room for the missing part of a download. Raises `OSError`."""
    part = _name_part(target)
    here = part.stat().st_size if part.exists() else 0
    return count_free_bytes(target.parent) < add_margin(size) - here


def _name_part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


async def fetch_size(url: str, token: str = "") -> int | None:
    """Fetch the size in bytes that *url* declares, or None.

    Raises `TransferFailed`.
    """
    with _translate_errors():
        async with open_source(url, 0, None, Pace().stall_s, token) as opened:
            return opened.total


async def fetch_headers(url: str, token: str, names: Sequence[str]) -> dict[str, str]:
    """Fetch the headers *names* from the first answer that has one; missing ones are empty.

    Only the host of *url* is contacted. Raises `TransferFailed`.
    """
    check_source(url)
    stall_s, first = Pace().stall_s, url
    with _translate_errors():
        async with _session(_host(url), stall_s) as (session, _):
            for _ in range(MAX_REDIRECTS + 1):
                headers = _make_headers(token)
                async with session.head(url, headers=headers, allow_redirects=False) as response:
                    values = {name: _header(response, name) for name in names}
                    if any(values.values()):
                        return values
                    url = urljoin(url, _header(response, "Location"))
                    if response.status in _MOVED and _origin(url) == _origin(first):
                        continue
                    if response.status in _MOVED or response.status == 200:
                        return values
                    raise TransferFailed("http_error", _status(response))
    raise TransferFailed("redirect_refused", f"more than {MAX_REDIRECTS} redirects")


class Transfer:
    """An attempt to download; `done` is its progress. Never leaves a file with a wrong checksum."""

    def __init__(
        self,
        source: Source,
        target: Path,
        pace: Pace | None = None,
        on_progress: Callable[[int], object] = int,  # which does nothing
    ) -> None:
        self._source = source
        self._target = target
        self._pace = pace or Pace()
        self._on_progress = on_progress
        self._part = PartFile(target)
        self._resumed_at = 0
        self._began: float | None = None
        self.done = 0

    def seconds_left(self) -> int | None:
        """Estimated seconds to completion; None before the speed is known."""
        elapsed = time.monotonic() - self._began if self._began is not None else 0.0
        fetched = self.done - self._resumed_at
        if fetched <= 0 or elapsed < 1:
            return None
        return max(1, round((self._source.size - self.done) * elapsed / fetched))

    async def run(self) -> None:
        """Download, verify and move into place. Raises `TransferFailed`."""
        try:
            with _translate_errors():
                await self._attempt()
        finally:
            await in_thread(self._part.close)

    async def _attempt(self) -> None:
        await in_thread(self._part.open)
        while await in_thread(self._part.absorb):
            self.done = self._part.size
        if self._part.size > self._source.size:
            await in_thread(self._part.restart)
        if await in_thread(lacks_room, self._target, self._source.size):
            raise TransferFailed("disk_full", "there is not enough free space")
        if self._part.size < self._source.size:
            try:
                await self._fetch()
            except TransferFailed as failure:
                if failure.reason != "range_refused" or not self._part.size:
                    raise
                await in_thread(self._part.restart)
                await self._fetch()
        await self._finish()

    async def _fetch(self) -> None:
        part, url = self._part, self._source.url
        stall_s, token = self._pace.stall_s, self._source.token
        async with open_source(url, part.size, part.validator, stall_s, token) as opened:
            if opened.total is not None and opened.total != self._source.size:
                await in_thread(part.drop)
                raise TransferFailed("size_mismatch", "the source does not have the declared size")
            if opened.offset != part.size:
                await in_thread(part.restart)
            await in_thread(part.remember, opened.validator)
            self.done = self._resumed_at = part.size
            self._began = time.monotonic()
            self._on_progress(self.done)
            await self._pour(opened)

    async def _pour(self, opened: Opened) -> None:
        """Write what arrives in batches of a megabyte; on an early end, write the rest too."""
        batch = bytearray()
        try:
            async for chunk in opened.chunks:
                batch += chunk
                self.done += len(chunk)
                self._on_progress(self.done)
                if self.done > self._source.size:
                    batch.clear()
                    await in_thread(self._part.drop)
                    raise TransferFailed("size_mismatch", "the source sends more than declared")
                if len(batch) >= _CHUNK:
                    data = bytes(batch)
                    batch.clear()
                    await in_thread(self._part.write, data)
                if self._pace.bytes_per_s:
                    await self._pace.sleep(len(chunk) / self._pace.bytes_per_s)
        finally:
            if batch:
                await in_thread(self._part.write, bytes(batch))

    async def _finish(self) -> None:
        if self._part.size < self._source.size:
            raise TransferFailed("interrupted", "the source ended before the file was complete")
        if self._part.digest() != self._source.sha256:
            await in_thread(self._part.drop)
            raise TransferFailed(
                "checksum_mismatch", "the file does not have the declared checksum"
            )
        await in_thread(self._part.finish)
        self.done = self._source.size


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of network and disk into `TransferFailed`."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise TransferFailed("unreachable", "the source cannot be reached") from None
    except TimeoutError:
        raise TransferFailed("stalled", "no progress for too long") from None
    except (aiohttp.ClientError, ValueError) as failure:
        raise TransferFailed("interrupted", "the source broke off") from failure
    except OSError as failure:
        reason = "disk_full" if failure.errno in NO_SPACE else "disk_error"
        raise TransferFailed(reason, "the file cannot be written") from failure


# --- the unfinished file


class PartFile:
    """An unfinished file, ``<target>.part``, with the validator of its version next to it.

    All methods block; `digest` covers all bytes of the file.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = _name_part(target)
        self._note = target.with_name(target.name + ".part.json")
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self.size = 0
        self.validator: str | None = None

    def open(self) -> None:
        """Open the file of an earlier attempt, to be hashed by `absorb`, or an empty one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.validator = _read_note(self._note)
        self._file = self._path.open("r+b" if self._path.exists() else "w+b")
        if self.validator is None:
            self.restart()

    def absorb(self) -> bool:
        """Hash the next 16 MB of the existing file; return whether there may be more."""
        file, end = self._require_file(), self.size + _HASHED_AT_ONCE
        while self.size < end:
            chunk = file.read(_CHUNK)
            if not chunk:
                return False
            self._hash.update(chunk)
            self.size += len(chunk)
        return True

    def restart(self) -> None:
        """Discard all bytes."""
        file = self._require_file()
        file.seek(0)
        file.truncate()
        self._hash, self.size = hashlib.sha256(), 0

    def remember(self, validator: str | None) -> None:
        """Store the version being downloaded; without one, downloads are not resumed."""
        self.validator = validator
        if validator is None:
            self._note.unlink(missing_ok=True)
        else:
            self._note.write_text(json.dumps({"validator": validator}), "utf-8")

    def write(self, data: bytes) -> None:
        """Append *data*."""
        self._require_file().write(data)
        self._hash.update(data)
        self.size += len(data)

    def digest(self) -> str:
        """SHA-256 of the file so far, in hexadecimal."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Sync the file to disk and move it to the target."""
        file = self._require_file()
        file.close()
        move_into_place(self._path, self._target)
        self._note.unlink(missing_ok=True)

    def drop(self) -> None:
        """Delete the file."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file if it is open."""
        if self._file is not None:
            self._file.close()

    def _require_file(self) -> BinaryIO:
        if self._file is None:
            raise ValueError("the file is not open")
        return self._file


def _read_note(path: Path) -> str | None:
    try:
        validator = json.loads(path.read_text("utf-8"))["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return validator if isinstance(validator, str) and validator.isprintable() else None


# --- sources


def check_source(url: str) -> str:
    """Return *url* if models may be downloaded from it.

    Otherwise raises `ValueError` with a text for the settings' author.
    """
    split = urlsplit(url)
    host = split.hostname or ""
    if split.username or split.password:
        raise ValueError("must not contain a user name or password")
    if split.scheme == "file" and host in ("", "localhost") and split.path.startswith("/"):
        return url
    literal = address_of(host)
    if split.scheme == "https" and host and (literal is None or is_reachable(literal)):
        return url
    if split.scheme == "http" and is_local_name(host):
        return url
    raise ValueError("must be an https address, a file:///path, or http to this machine")


@asynccontextmanager
async def open_source(
    url: str, offset: int, validator: str | None, stall_s: float, token: str = ""
) -> AsyncIterator[Opened]:
    """Open *url* at *offset* if it still has the version *validator*, else at 0.

    Raises `TransferFailed`, `TimeoutError` and network errors.
    """
    check_source(url)
    if urlsplit(url).scheme == "file":
        opening = _open_file(url, offset, validator)
    else:
        opening = _open_http(url, offset, validator, stall_s, token)
    async with opening as opened:
        yield opened


@asynccontextmanager
async def _open_file(url: str, offset: int, validator: str | None) -> AsyncIterator[Opened]:
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
            while data := await in_thread(file.read, _READ):
                yield data

        yield Opened(start, version, info.st_size, chunks())


@asynccontextmanager
async def _open_http(
    url: str, offset: int, validator: str | None, stall_s: float, token: str
) -> AsyncIterator[Opened]:
    headers = _make_headers(token)
    if offset and validator is not None:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    async with _session(_host(url), stall_s) as (session, resolver), AsyncExitStack() as stack:
        response = await _follow(session, stack, resolver, url, headers)
        yield _accept(response, offset, stall_s)


@asynccontextmanager
async def _session(
    host: str, stall_s: float
) -> AsyncIterator[tuple[aiohttp.ClientSession, GuardedResolver]]:
    """Open a session restricted to permitted addresses, with the resolver that restricts it."""
    resolver = GuardedResolver(is_loopback if is_local_name(host) else is_reachable)
    connector = aiohttp.TCPConnector(resolver=resolver, force_close=True)
    async with make_session(connector, sock_connect=_CONNECT_S, sock_read=stall_s) as session:
        yield session, resolver


def _make_headers(token: str) -> dict[str, str]:
    """Headers of a request for uncompressed bytes."""
    authorization = {"Authorization": f"Bearer {token}"} if token else {}
    return {"Accept-Encoding": "identity", **authorization}


def _origin(url: str) -> tuple[str, str]:
    split = urlsplit(url)
    return split.scheme, split.netloc


async def _follow(
    session: aiohttp.ClientSession,
    stack: AsyncExitStack,
    resolver: GuardedResolver,
    url: str,
    headers: dict[str, str],
) -> aiohttp.ClientResponse:
    """Follow redirects to the final answer, checking each hop first."""
    first = url
    for _ in range(MAX_REDIRECTS + 1):
        request = session.get(url, headers=headers, allow_redirects=False)
        response = await stack.enter_async_context(request)
        if response.status not in _MOVED:
            return response
        url = urljoin(url, response.headers.get("Location", ""))
        if _origin(url) != _origin(first):
            headers = {name: headers[name] for name in headers if name != "Authorization"}
        resolver.rule = check_hop(first, url)
        response.close()
    raise TransferFailed("redirect_refused", f"more than {MAX_REDIRECTS} redirects")


def check_hop(first: str, hop: str) -> Rule:
    """Choose the rule for the addresses of *hop*, a redirect that began at *first*.

    A host on the internet must not redirect to one on this network. Raises `TransferFailed`.
    """
    local = is_local_name(_host(first))
    if local and is_local_name(_host(hop)) and urlsplit(hop).scheme in ("http", "https"):
        return is_loopback
    rule = is_reachable if _host(hop) == _host(first) else is_public
    literal = address_of(_host(hop))
    is_remote = _host(hop) != "" and not is_local_name(_host(hop))
    if urlsplit(hop).scheme != "https" or not is_remote or (literal and not rule(literal)):
        raise TransferFailed("redirect_refused", "the source redirects to a forbidden address")
    return rule


def _accept(response: aiohttp.ClientResponse, offset: int, stall_s: float) -> Opened:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise TransferFailed("http_error", "the source sends compressed bytes")
    if response.status == 200:
        start, total = 0, response.content_length
    elif response.status == 206 and (match := _RANGE.fullmatch(_header(response, "Content-Range"))):
        start, total = int(match[1]), None if match[2] == "*" else int(match[2])
        if start != offset:
            raise TransferFailed("http_error", "the source did not send the requested range")
    elif response.status == 416:
        raise TransferFailed("range_refused", "the source cannot continue the download")
    else:
        raise TransferFailed("http_error", _status(response))
    return Opened(start, _validator(response), total, _body(response, stall_s))


async def _body(response: aiohttp.ClientResponse, stall_s: float) -> AsyncIterator[bytes]:
    while True:
        async with asyncio.timeout(stall_s):
            data = await response.content.readany()
        if not data:
            return
        yield data


def _status(response: aiohttp.ClientResponse) -> str:
    return f"the source answered with status {response.status}"


def _validator(response: aiohttp.ClientResponse) -> str | None:
    """A strong entity tag, else the date; weak tags do not guarantee equal bytes."""
    tag = _header(response, "ETag")
    return tag if tag.startswith('"') else _header(response, "Last-Modified") or None


def _header(response: aiohttp.ClientResponse, name: str) -> str:
    return response.headers.get(name, "").strip()


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
