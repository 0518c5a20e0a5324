"""The upstreams: which are up, what each serves, and to which one a conversation belongs."""

import asyncio
import contextlib
import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import SecretStr

from runtime.llm.inference import SYSTEM_MODEL
from runtime.llm.models.catalogfile import Kind
from runtime.llm.models.daemon import (
    Address,
    Daemon,
    DaemonTrouble,
    Patience,
    count,
    member,
    parse_address,
)
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

REFRESH_S: Final = 15.0
"""Between two looks at the list of an upstream that is up."""
BACK_OFF_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Until the next look at one that is down, by how often it has failed in a row."""
LOOK_S: Final = 5.0
MAX_MODELS: Final = 1000
MAX_NAME: Final = 256


class UpstreamsUnavailable(ApiError):
    """No upstream that may serve the model can be reached, or all of them are busy."""

    status, code = 503, "upstreams_unavailable"

    def __init__(self, message: str, retry_after_s: float) -> None:
        seconds = max(1, math.ceil(retry_after_s))
        super().__init__(message, headers={"Retry-After": str(seconds)})


class Served(NamedTuple):
    """What an upstream's list says of a model."""

    kind: Kind
    """Chat where the list does not say."""
    created: int
    """Unix seconds; 0 where the list does not say."""
    n_ctx: int | None
    """Tokens of prompt and reply."""


@dataclass(eq=False)
class Upstream:
    """One upstream and how it does; times are seconds of the monotonic clock."""

    url: str
    daemon: Daemon
    models: dict[str, Served] | None = None
    """By its last list; None before the first."""
    fault: str | None = "has not answered yet"
    """Why it is down: a sentence without its subject; None while it is up."""
    unlisted: int = 0
    """Looks in a row that failed."""
    broken: int = 0
    """Requests in a row that failed."""
    due: float = 0.0
    """When to look next."""
    running: int = 0
    requests: int = 0
    errors: int = 0
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the first look is over."""
    hurried: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `due` has changed."""

    @property
    def up(self) -> bool:
        """Whether requests may go there."""
        return self.fault is None

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a request while it is there."""
        self.requests += 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


class Upstreams:
    """Every upstream of the settings, each looked at in its own rhythm between start and close.

    An upstream that cannot be reached, breaks off or falls silent is down until its list can be
    read again; the more often it has failed in a row, the later it is looked at. One that answers
    with an error stays in use: that may be the fault of one model, or of one request.
    """

    def __init__(
        self,
        urls: Sequence[str],
        keys: Sequence[SecretStr],
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.all = [
            Upstream(url, Daemon(address_of(url), key=key, patience=patience))
            for url, key in zip(urls, keys or [SecretStr("")] * len(urls), strict=True)
        ]
        self.failovers = 0
        """Requests that went on to a further upstream."""
        self.cut = 0
        """Replies that ended in an error after their first token."""
        self._clock = clock
        self._looking: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to look at each."""
        self._looking = [
            asyncio.create_task(self._watch(upstream), name="upstream") for upstream in self.all
        ]

    async def close(self) -> None:
        """Stop looking and close the connections."""
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        for upstream in self.all:
            await upstream.daemon.close()

    async def lists(self, model: str) -> bool:
        """Whether an upstream serves the model, or might: one that was never reached.

        Waits for the first look at each.
        """
        await asyncio.gather(*(upstream.looked.wait() for upstream in self.all))
        return model != SYSTEM_MODEL and any(
            upstream.models is None or model in upstream.models for upstream in self.all
        )

    def serving(self, model: str) -> list[Upstream]:
        """The upstreams on whose last list the model is, whether they are up or not."""
        return [upstream for upstream in self.all if model in (upstream.models or {})]

    def models(self) -> dict[str, Served]:
        """Every model of a list; the first upstream that has it says what it is."""
        found: dict[str, Served] = {}
        for upstream in reversed(self.all):
            found |= upstream.models or {}
        return found

    def embeds(self, model: str) -> bool:
        """Whether every list that has the model calls it an embedding model."""
        kinds = {(upstream.models or {})[model].kind for upstream in self.serving(model)}
        return kinds == {"embedding"}

    def order(self, model: str, key: str) -> list[Upstream]:
        """The upstreams to try, those that are up and serve the model: rendezvous hashing.

        The same *key* leads to the same upstream while that one is up; when it is down, its keys
        spread over the others and no other key moves. Raises `UpstreamsUnavailable` for none.
        """
        able = [upstream for upstream in self.serving(model) if upstream.up]
        if not able:
            raise self._unavailable(model)
        return sorted(able, key=lambda upstream: _weight(key, upstream.url), reverse=True)

    def succeeded(self, upstream: Upstream) -> None:
        """A request was answered to its end."""
        upstream.broken = 0

    def failed(self, upstream: Upstream, trouble: DaemonTrouble) -> None:
        """A request has failed there: take it out of use, unless it has answered."""
        upstream.errors += 1
        if not upstream.up:  # requests side by side fail together
            return
        if trouble.away:
            upstream.broken += 1
            self._take_down(upstream, trouble.text)
        elif trouble.retry_after_s is None:  # its list says what it still serves
            self._look_in(upstream, 0.0)

    def _unavailable(self, model: str) -> UpstreamsUnavailable:
        doubtful = self.serving(model) or [each for each in self.all if each.models is None]
        reasons = dict.fromkeys(upstream.fault for upstream in doubtful if upstream.fault)
        why = ", or ".join(map(str, reasons)) or "does not list it any more"
        text = f"no upstream answers for this model now: it {why}"
        soonest = min((upstream.due for upstream in doubtful), default=0.0)
        return UpstreamsUnavailable(text, soonest - self._clock())

    async def _watch(self, upstream: Upstream) -> None:
        while True:
            await self._look(upstream)
            upstream.looked.set()
            while (left := upstream.due - self._clock()) > 0:
                upstream.hurried.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await upstream.hurried.wait()

    async def _look(self, upstream: Upstream) -> None:
        try:
            upstream.models = read_list(await upstream.daemon.get("/models"))
        except DaemonTrouble as trouble:
            upstream.unlisted += 1
            self._take_down(upstream, trouble.text)
            return
        if not upstream.up:
            log.info("upstream %s is up with %d models", upstream.url, len(upstream.models))
        upstream.unlisted, upstream.fault = 0, None
        self._look_in(upstream, REFRESH_S)

    def _take_down(self, upstream: Upstream, reason: str) -> None:
        failures = max(upstream.unlisted, upstream.broken)
        if upstream.fault != reason:
            log.warning("upstream %s is down: it %s", upstream.url, reason)
        upstream.fault = reason
        self._look_in(upstream, BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1])

    def _look_in(self, upstream: Upstream, seconds: float) -> None:
        upstream.due = self._clock() + seconds
        upstream.hurried.set()


def address_of(url: str) -> Address:
    """Where an upstream listens; raises `ValueError` with a text for the reader of the settings."""
    return parse_address(url, allow_remote=True, allow_private=True)


def read_list(answer: object) -> dict[str, Served]:
    """The models of an upstream's answer. Raises `DaemonTrouble` for what is no list."""
    data = member(answer, "data")
    if not isinstance(data, list):
        raise DaemonTrouble("did not answer with a list of models")
    served: dict[str, Served] = {}
    for entry in data[:MAX_MODELS]:
        name = member(entry, "id")
        if isinstance(name, str) and _is_name(name):
            sizes = (member(entry, "max_model_len"), member(entry, "meta", "n_ctx"))
            served[name] = Served(
                "embedding" if member(entry, "meta", "kind") == "embedding" else "chat",
                count(member(entry, "created")) or 0,
                next((size for size in map(count, sizes) if size), None),
            )
    return served


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME and name.isprintable() and name != SYSTEM_MODEL


def _weight(key: str, url: str) -> bytes:
    data = f"{key}\0{url}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest()
