"""Notifications: kept until they are delivered, and published at once to listeners."""

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
    encode_object,
    make_notification_event,
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
"""Notifications kept, read or unread."""
NOBODY: Final = ""
"""The driver of a notification for everybody."""


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification in the database; times are Unix milliseconds."""

    table: ClassVar[str] = "notifications"
    id: int
    driver: str
    """Empty: everybody."""
    kind: str
    payload: str
    """The JSON for listeners."""
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
    """The notifications of all drivers; used on the event loop only.

    Without a database they are kept in memory and lost with the process.
    """

    def __init__(self) -> None:
        self._hub: Hub | None = None
        self._store: Store | None = None
        self._kept: dict[int, _Kept] = {}
        self._last = 0
        self._delivered: list[int] = []
        self._marking: asyncio.Task[None] | None = None

    async def open(self, hub: Hub, store: Store | None) -> None:
        """Publish to *hub*, and load the notifications kept in *store*."""
        self._hub, self._store = hub, store
        if store is None:
            return
        try:
            rows = await read_notifications(store, KEPT)
        except StoreFailed as problem:
            log.error("earlier notifications are lost: %s", problem)
            return
        for row in rows:
            event = make_notification_event(row.payload.encode(), row.id)
            about = orjson.loads(row.payload).get("session_id")
            unread = row.delivered_at is None
            self._kept[row.id] = _Kept(_list_topics(row.driver), event, unread, about)
            self._last = max(self._last, row.id)

    async def close(self) -> None:
        """Store which notifications were delivered."""
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
        """Keep and publish a notification; return its number. *more* are extra JSON fields.

        An empty *driver*, or ``*``, addresses every driver. If the database fails, the
        notification is published anyway and the failure logged. A notification about a session
        deleted in the meantime is dropped.
        """
        self._last += 1
        number, now, addressee = self._last, time.time(), driver.strip()
        addressee = NOBODY if addressee == EVERYTHING else addressee
        fields = {"id": number, "ts": round(now, 3), "kind": kind, "driver": addressee}
        about = {} if session_id is None else {"session_id": session_id}
        payload = encode_object({**more, **fields, **about, "title": title, "body": body})
        if self._store is not None:
            row = NotificationRow(number, addressee, kind, payload.decode(), int(now * 1000))
            try:
                rows = 1 + len(payload) // 128
                if not await self._store.write(lambda tx: _insert(tx, row, session_id), rows=rows):
                    return number
            except StoreError as error:
                log.warning("a notification could not be kept: %s", error)
        topics, event = _list_topics(addressee), make_notification_event(payload, number)
        self._kept[number] = _Kept(topics, event, unread=True, session_id=session_id)
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        if self._hub is not None:
            self._hub.publish_notification(topics, event)
        return number

    def forget(self, session_id: str) -> None:
        """Drop the notifications of a deleted session."""
        for number, kept in list(self._kept.items()):
            if kept.session_id == session_id:
                del self._kept[number]

    def listen(self, driver: str, since_id: int | None = None) -> Subscription:
        """Deliver what a driver has not received, then what comes. Raises `TooManyListeners`.

        ``*`` hears everything. With *since_id* the notifications after that number are repeated.
        """
        assert self._hub is not None
        oldest = max(0, self._last - RING)
        since = since_id
        if since is not None and not oldest <= since <= self._last:
            since = oldest
        topics, backlog = self.list_waiting(driver, since)
        position = self._last if since is None else since
        return self._hub.subscribe({"notifications": topics}, backlog=backlog, position=position)

    def list_waiting(
        self, driver: str, since: int | None = None
    ) -> tuple[tuple[str, ...], list[Event]]:
        """Return a driver's topics and the events that are unread or newer than *since*."""
        everything = driver.strip() in ("", EVERYTHING)
        topics = (EVERYTHING,) if everything else (_fold_driver(driver), NOBODY)
        return topics, [
            kept.event
            for number, kept in self._kept.items()
            if (kept.unread or (since is not None and number > since))
            and not set(topics).isdisjoint(kept.topics)
        ]

    def note_delivery(self, kind: Kind, number: int) -> None:
        """Note that an event was delivered; for a notification this is stored soon after."""
        kept = self._kept.get(number) if kind == "notifications" else None
        if kept is None or not kept.unread:
            return
        kept.unread = False
        self._delivered.append(number)
        if self._marking is None and self._store is not None:
            self._marking = asyncio.create_task(self._mark(self._store))

    async def _mark(self, store: Store) -> None:
        try:
            while self._delivered:
                numbers, self._delivered = self._delivered, []
                await store.write(partial(_mark_delivered, numbers=numbers), rows=len(numbers))
        except StoreError as error:  # they are delivered once more after the next start
            log.warning("deliveries could not be stored: %s", error)
        finally:
            self._marking = None


def _list_topics(driver: str) -> tuple[str, ...]:
    return (_fold_driver(driver), EVERYTHING)


def _fold_driver(driver: str) -> str:
    return driver.strip().casefold()


async def read_notifications(store: Store, limit: int) -> list[NotificationRow]:
    """Read the last *limit* notifications, oldest first."""
    rest = "ORDER BY id DESC LIMIT ?"
    return (await store.read(lambda reader: select(reader, NotificationRow, rest, (limit,))))[::-1]


def _insert(tx: Transaction, row: NotificationRow, session_id: str | None) -> bool:
    """Insert a notification, whose number is the largest so far, and delete the oldest.

    Return False if the session that it is about was deleted.
    """
    if is_deleted(tx, session_id):
        return False
    tx.run("DELETE FROM notifications WHERE id <= ?", (row.id - KEPT,))
    tx.insert(row)
    return True


def _mark_delivered(tx: Transaction, numbers: Sequence[int]) -> None:
    marks = ", ".join("?" * len(numbers))
    tx.run(
        f"UPDATE notifications SET delivered_at = ? WHERE id IN ({marks})",  # noqa: S608 - marks
        (unix_ms(), *numbers),
    )
