"""The upstreams: which are up, which models they serve, and which one gets a conversation."""

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
"""Interval between probes of an upstream that is up."""
BACK_OFF_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Delay of the next probe of an upstream that is down, by its consecutive failures."""
PROBE_S: Final = 5.0
MAX_MODELS: Final = 1000
MAX_NAME: Final = 256


class UpstreamsUnavailable(ApiError):
    """No upstream of the model can be reached, or all of them are busy."""

    status, code = 503, "upstreams_unavailable"

    def __init__(self, message: str, retry_after_s: float) -> None:
        seconds = max(1, math.ceil(retry_after_s))
        super().__init__(message, headers={"Retry-After": str(seconds)})


class Served(NamedTuple):
    """A model on an upstream's list."""

    kind: Kind
    """Chat if the list does not say."""
    created: int
    """Unix seconds; 0 if the list does not say."""
    n_ctx: int | None
    """Token budget of prompt and reply."""


@dataclass(eq=False)
class Upstream:
    """An upstream and its state; times are seconds of the monotonic clock."""

    url: str
    daemon: Daemon
    models: dict[str, Served] | None = None
    """The models of its last list; None before the first."""
    fault: str | None = "has not answered yet"
    """Why it is down, as a sentence without a subject; None while it is up."""
    unlisted: int = 0
    """Consecutive failed probes."""
    broken: int = 0
    """Consecutive failed requests."""
    due: float = 0.0
    """Time of the next probe."""
    running: int = 0
    requests: int = 0
    errors: int = 0
    probed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set after the first probe."""
    rescheduled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `due` changes."""

    @property
    def up(self) -> bool:
        """Whether it gets requests."""
        return self.fault is None

    @contextlib.contextmanager
    def count_request(self) -> Iterator[None]:
        """Count a request, and count it as running inside the block."""
        self.requests += 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


class Upstreams:
    """The upstreams of the settings, each probed on its own schedule between start and close.

    An upstream that cannot be reached, breaks off or falls silent is down until its list can be
    read again; its probes back off with each consecutive failure. An upstream that answers with an
    error stays in use, because a single model or request may be at fault.
    """

    def __init__(
        self,
        urls: Sequence[str],
        keys: Sequence[SecretStr],
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.all = [
            Upstream(url, Daemon(parse_upstream(url), key=key, patience=patience))
            for url, key in zip(urls, keys or [SecretStr("")] * len(urls), strict=True)
        ]
        self.failovers = 0
        """Requests that moved on to another upstream."""
        self.cut = 0
        """Replies that ended in an error after their first token."""
        self._clock = clock
        self._probes: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start probing."""
        self._probes = [
            asyncio.create_task(self._run_probes(upstream), name="upstream")
            for upstream in self.all
        ]

    async def close(self) -> None:
        """Stop probing and close the connections."""
        for task in self._probes:
            task.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)
        for upstream in self.all:
            await upstream.daemon.close()

    async def lists(self, model: str) -> bool:
        """Whether an upstream serves the model, or might because it was never reached.

        Waits for the first probe of each upstream.
        """
        await asyncio.gather(*(upstream.probed.wait() for upstream in self.all))
        return model != SYSTEM_MODEL and any(
            upstream.models is None or model in upstream.models for upstream in self.all
        )

    def serving(self, model: str) -> list[Upstream]:
        """The upstreams, up or down, whose last list has the model."""
        return [upstream for upstream in self.all if model in (upstream.models or {})]

    def models(self) -> dict[str, Served]:
        """All listed models, each as described by the first upstream that lists it."""
        models: dict[str, Served] = {}
        for upstream in reversed(self.all):
            models |= upstream.models or {}
        return models

    def embeds(self, model: str) -> bool:
        """Whether every list with the model calls it an embedding model."""
        kinds = {(upstream.models or {})[model].kind for upstream in self.serving(model)}
        return kinds == {"embedding"}

    def order(self, model: str, key: str) -> list[Upstream]:
        """The upstreams that are up and serve the model, in the order of rendezvous hashing.

        The same *key* leads to the same upstream while it is up. If it is down, only its keys move,
        spread over the others. Raises `UpstreamsUnavailable` if there is none.
        """
        able = [upstream for upstream in self.serving(model) if upstream.up]
        if not able:
            raise self._unavailable(model)
        return sorted(able, key=lambda upstream: _weight(key, upstream.url), reverse=True)

    def note_success(self, upstream: Upstream) -> None:
        """Record a request that was answered completely."""
        upstream.broken = 0

    def note_failure(self, upstream: Upstream, trouble: DaemonTrouble) -> None:
        """Record a failed request; take the upstream down unless it has answered."""
        upstream.errors += 1
        if not upstream.up:  # concurrent requests fail together
            return
        if trouble.away:
            upstream.broken += 1
            self._take_down(upstream, trouble.text)
        elif trouble.retry_after_s is None:  # its list shows what it still serves
            self._schedule(upstream, 0.0)

    def _unavailable(self, model: str) -> UpstreamsUnavailable:
        never_reached = [upstream for upstream in self.all if upstream.models is None]
        candidates = self.serving(model) or never_reached
        reasons = dict.fromkeys(upstream.fault for upstream in candidates if upstream.fault)
        why = ", or ".join(map(str, reasons)) or "no longer lists it"
        text = f"no upstream serves this model now: it {why}"
        soonest = min((upstream.due for upstream in candidates), default=0.0)
        return UpstreamsUnavailable(text, soonest - self._clock())

    async def _run_probes(self, upstream: Upstream) -> None:
        while True:
            await self._probe(upstream)
            upstream.probed.set()
            while (left := upstream.due - self._clock()) > 0:
                upstream.rescheduled.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await upstream.rescheduled.wait()

    async def _probe(self, upstream: Upstream) -> None:
        try:
            upstream.models = read_list(await upstream.daemon.get("/models"))
        except DaemonTrouble as trouble:
            upstream.unlisted += 1
            self._take_down(upstream, trouble.text)
            return
        if not upstream.up:
            log.info("upstream %s is up with %d models", upstream.url, len(upstream.models))
        upstream.unlisted, upstream.fault = 0, None
        self._schedule(upstream, REFRESH_S)

    def _take_down(self, upstream: Upstream, reason: str) -> None:
        failures = max(upstream.unlisted, upstream.broken)
        if upstream.fault != reason:
            log.warning("upstream %s is down: it %s", upstream.url, reason)
        upstream.fault = reason
        self._schedule(upstream, BACK_OFF_S[min(failures, len(BACK_OFF_S)) - 1])

    def _schedule(self, upstream: Upstream, seconds: float) -> None:
        upstream.due = self._clock() + seconds
        upstream.rescheduled.set()


def parse_upstream(url: str) -> Address:
    """Parse an upstream's address. Raises `ValueError` with a text for the settings' author."""
    return parse_address(url, allow_remote=True, allow_private=True)


def read_list(answer: object) -> dict[str, Served]:
    """Read the models of an upstream's answer. Raises `DaemonTrouble` if it is not a list."""
    data = member(answer, "data")
    if not isinstance(data, list):
        raise DaemonTrouble("did not answer with a list of models")
    served: dict[str, Served] = {}
    for entry in data[:MAX_MODELS]:
        name = member(entry, "id")
        if not isinstance(name, str) or not name.isprintable() or name == SYSTEM_MODEL:
            continue
        if 0 < len(name) <= MAX_NAME:
            sizes = (member(entry, "max_model_len"), member(entry, "meta", "n_ctx"))
            served[name] = Served(
                "embedding" if member(entry, "meta", "kind") == "embedding" else "chat",
                count(member(entry, "created")) or 0,
                next((size for size in map(count, sizes) if size), None),
            )
    return served


def _weight(key: str, url: str) -> bytes:
    data = f"{key}\0{url}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest()
