"""Notifications: kept until somebody has got them, and told at once to whoever listens."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, Literal, TypeAlias

import orjson

from runtime.bridge.live.hub import (
    EVERYTHING,
    RING,
    Event,
    Hub,
    Kind,
    Subscription,
    notification_event,
    object_json,
)
from runtime.bridge.storage.errors import StoreError, StoreFailed
from runtime.bridge.storage.records import unix_ms
from runtime.bridge.storage.sessions import is_deleted
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction, select

log = logging.getLogger(__name__)

NotificationKind: TypeAlias = Literal[
    "debrief-ready",
    "medal-earned",
    "level-up",
    "affinity-tier",
    "track-unlock",
    "hardware-warning",
    "evolution-ready",
    "session-saved",
    "brief-ready",
]
KEPT: Final = 1000
"""Notifications that are kept, read or not."""
NOBODY: Final = ""
"""The driver of what is addressed to nobody in particular."""


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """Something to tell a driver, as the database keeps it; times are Unix milliseconds."""

    table: ClassVar[str] = "notifications"
    id: int
    driver: str
    """Empty: nobody in particular."""
    kind: str
    payload: str
    """The JSON that listeners get."""
    created_at: int
    delivered_at: int | None = None


@dataclass(slots=True)
class _Kept:
    topics: tuple[str, ...]
    event: Event
    unread: bool
    session_id: str | None
    """What it is about."""


class Inbox:
    """The notifications of all drivers; of the event loop alone.

    Works from memory where there is no database: they are then lost with the process.
    """

    def __init__(self) -> None:
        self._hub: Hub | None = None
        self._store: Store | None = None
        self._kept: dict[int, _Kept] = {}
        self._last = 0
        self._got: list[int] = []
        self._marking: asyncio.Task[None] | None = None

    async def open(self, hub: Hub, store: Store | None) -> None:
        """Tell *hub* what comes, and go on with what *store* has kept."""
        self._hub, self._store = hub, store
        if store is None:
            return
        try:
            rows = await read_notifications(store, KEPT)
        except StoreFailed as problem:
            log.error("earlier notifications are lost: %s", problem)
            return
        for row in rows:
            event = notification_event(row.payload.encode(), row.id)
            about = orjson.loads(row.payload).get("session_id")
            unread = row.delivered_at is None
            self._kept[row.id] = _Kept(_topics(row.driver), event, unread, about)
            self._last = max(self._last, row.id)

    async def close(self) -> None:
        """Write down what was delivered."""
        while self._marking is not None:
            await asyncio.wait([self._marking])

    async def post(
        self,
        kind: NotificationKind,
        driver: str,
        title: str,
        body: str,
        session_id: str | None = None,
        **more: object,
    ) -> int:
        """Keep a notification and tell it; its number. *more* are further fields, fit for JSON.

        An empty *driver*, or ``*``, addresses nobody in particular: every driver hears it. Where
        the database fails it is told all the same, and the log says so. One about a session that
        was deleted meanwhile is neither kept nor told.
        """
        self._last += 1
        number, now, told = self._last, time.time(), driver.strip()
        told = NOBODY if told == EVERYTHING else told
        fields = {"id": number, "ts": round(now, 3), "kind": kind, "driver": told}
        about = {} if session_id is None else {"session_id": session_id}
        payload = object_json({**more, **fields, **about, "title": title, "body": body})
        if self._store is not None:
            row = NotificationRow(number, told, kind, payload.decode(), int(now * 1000))
            try:
                rows = 1 + len(payload) // 128
                if not await self._store.write(lambda tx: _add(tx, row, session_id), rows=rows):
                    return number
            except StoreError as error:
                log.warning("a notification could not be kept: %s", error)
        topics, event = _topics(told), notification_event(payload, number)
        self._kept[number] = _Kept(topics, event, unread=True, session_id=session_id)
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        if self._hub is not None:
            self._hub.publish_notification(topics, event)
        return number

    def forget(self, session_id: str) -> None:
        """Tell no more of a session that was deleted with what is stored of it."""
        for number, kept in list(self._kept.items()):
            if kept.session_id == session_id:
                del self._kept[number]

    def listen(self, driver: str, since_id: int | None = None) -> Subscription:
        """What a driver has not got yet, then what comes. Raises `TooManyListeners`.

        ``*`` hears everything. With *since_id* what came behind that number is told again.
        """
        assert self._hub is not None
        oldest = max(0, self._last - RING)
        since = since_id
        if since is not None and not oldest <= since <= self._last:
            since = oldest
        topics, backlog = self.waiting(driver, since)
        position = self._last if since is None else since
        return self._hub.subscribe({"notifications": topics}, backlog=backlog, position=position)

    def waiting(self, driver: str, since: int | None = None) -> tuple[tuple[str, ...], list[Event]]:
        """The topics of a driver, and what has not been told of them, or came behind *since*."""
        everything = driver.strip() in ("", EVERYTHING)
        topics = (EVERYTHING,) if everything else (_folded(driver), NOBODY)
        return topics, [
            kept.event
            for number, kept in self._kept.items()
            if (kept.unread or (since is not None and number > since))
            and not set(topics).isdisjoint(kept.topics)
        ]

    def delivered(self, kind: Kind, number: int) -> None:
        """Somebody has got an event; that a notification was got is written down soon."""
        kept = self._kept.get(number) if kind == "notifications" else None
        if kept is None or not kept.unread:
            return
        kept.unread = False
        self._got.append(number)
        if self._marking is None and self._store is not None:
            self._marking = asyncio.create_task(self._mark(self._store))

    async def _mark(self, store: Store) -> None:
        try:
            while self._got:
                numbers, self._got = self._got, []
                await store.write(partial(_note_delivered, numbers=numbers), rows=len(numbers))
        except StoreError as error:  # they are told once more after the next start
            log.warning("what was delivered could not be written down: %s", error)
        finally:
            self._marking = None


def _topics(driver: str) -> tuple[str, ...]:
    return (_folded(driver), EVERYTHING)


def _folded(driver: str) -> str:
    return driver.strip().casefold()


async def read_notifications(store: Store, limit: int) -> list[NotificationRow]:
    """The last *limit*, oldest first."""
    rest = "ORDER BY id DESC LIMIT ?"
    return (await store.read(lambda reader: select(reader, NotificationRow, rest, (limit,))))[::-1]


def _add(tx: Transaction, row: NotificationRow, session_id: str | None) -> bool:
    """Keep a notification with a number that is larger than every one before; the oldest go.

    Whether it was kept: what it is about may be deleted.
    """
    if is_deleted(tx, session_id):
        return False
    tx.run("DELETE FROM notifications WHERE id <= ?", (row.id - KEPT,))
    tx.insert(row)
    return True


def _note_delivered(tx: Transaction, numbers: Sequence[int]) -> None:
    """Somebody has got these notifications."""
    marks = ", ".join("?" * len(numbers))
    tx.run(
        f"UPDATE notifications SET delivered_at = ? WHERE id IN ({marks})",  # noqa: S608 - marks
        (unix_ms(), *numbers),
    )
