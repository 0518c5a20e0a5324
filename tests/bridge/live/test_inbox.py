"""Notifications: kept until they are delivered, told again to whoever comes back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.bridge.live.hub import Hub
from runtime.bridge.live.inbox import Inbox, read_notifications
from runtime.bridge.storage.errors import StoreFull
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from tests.bridge.live.streamkit import Message, waiting


@pytest.fixture
async def store(tmp_path: Path, backend: Backend) -> AsyncIterator[Store]:
    """An open, empty store of each kind."""
    opened = await Store.open(tmp_path / "db", backend)
    yield opened
    await opened.close()


@pytest.fixture
async def inbox(store: Store) -> AsyncIterator[Inbox]:
    made = await reopened(store)
    yield made
    await made.close()


async def reopened(store: Store | None) -> Inbox:
    """An inbox as a new process would have it."""
    made = Inbox()
    await made.open(Hub(), store)
    return made


async def delivered(inbox: Inbox, driver: str = "*", since: int | None = None) -> list[Message]:
    """What a new listener gets at once; it is then delivered."""
    listener = inbox.listen(driver, since)
    found = await waiting(listener)
    for message in found:
        assert message.id is not None
        inbox.note_delivery("notifications", message.id)
    listener.close()
    return found


def titles(messages: list[Message]) -> list[str]:
    return [message.data["title"] for message in messages]


async def test_a_notification_has_its_fields_and_those_of_its_kind(inbox: Inbox) -> None:
    await inbox.post("medal-earned", "Mia", "Gold", "First gold", "s-1", medal="gold", lap=3)
    await inbox.post("session-saved", "", "Saved", "It is on disk")
    first, second = await delivered(inbox)
    assert first.name == "notification"
    assert first.data.pop("ts") > 1e9
    assert first.data == {
        "id": first.id,
        "kind": "medal-earned",
        "driver": "Mia",
        "session_id": "s-1",
        "title": "Gold",
        "body": "First gold",
        "medal": "gold",
        "lap": 3,
    }
    assert "session_id" not in second.data


@pytest.mark.parametrize(
    ("driver", "wanted"),
    [
        ("*", ["for Mia", "for Tom", "for all", "for all too"]),
        ("Mia", ["for Mia", "for all", "for all too"]),
        (" mia ", ["for Mia", "for all", "for all too"]),
        ("Nobody", ["for all", "for all too"]),
    ],
)
async def test_a_driver_hears_what_is_addressed_to_nobody_too(
    inbox: Inbox, driver: str, wanted: list[str]
) -> None:
    live = inbox.listen(driver)
    for to, title in (("Mia", "for Mia"), ("Tom", "for Tom"), ("", "for all"), ("*", wanted[-1])):
        await inbox.post("level-up", to, title, "")
    assert titles(await waiting(live)) == wanted
    assert titles(await delivered(inbox, driver)) == wanted


async def test_numbers_go_on_after_a_restart(store: Store, inbox: Inbox) -> None:
    first = await inbox.post("level-up", "", "one", "")
    assert await (await reopened(store)).post("level-up", "", "two", "") == first + 1


async def test_one_that_comes_back_gets_what_it_missed_though_others_got_it(inbox: Inbox) -> None:
    numbers = [await inbox.post("level-up", "", str(at), "") for at in range(4)]
    assert len(await delivered(inbox)) == 4
    assert await delivered(inbox) == []
    assert titles(await delivered(inbox, since=numbers[1])) == ["2", "3"]
    assert titles(await delivered(inbox, since=10_000_000)) == ["0", "1", "2", "3"]


async def test_only_so_many_are_kept(
    store: Store, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.bridge.live.inbox.KEPT", 10)
    await asyncio.gather(*(inbox.post("level-up", "", str(at), "") for at in range(13)))
    rows = await read_notifications(store, 100)
    assert [row.id for row in rows] == list(range(4, 14))
    assert titles(await delivered(inbox)) == [str(at) for at in range(3, 13)]


async def test_without_a_database_notifications_are_told_all_the_same() -> None:
    inbox = await reopened(None)
    await inbox.post("hardware-warning", "", "No bus", "")
    assert titles(await delivered(inbox)) == ["No bus"]
    await inbox.close()


async def test_a_disk_that_is_full_stops_no_notification(
    inbox: Inbox, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(work: object, *, rows: int = 1) -> None:
        raise StoreFull

    monkeypatch.setattr(store, "write", refuse)
    await inbox.post("hardware-warning", "", "Disk full", "")
    assert titles(await delivered(inbox)) == ["Disk full"]
    await inbox.close()
