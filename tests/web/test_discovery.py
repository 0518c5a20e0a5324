"""The announcement on the network, made and watched on loopback by real multicast sockets."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest
from zeroconf import Error, ServiceInfo, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncZeroconf

from runtime.bridge import startup as bridge
from runtime.llm import app as llm
from runtime.web import discovery
from runtime.web.discovery import (
    Announcement,
    Announcer,
    reachable_addresses,
    service_info,
)

LOOPBACK = ["127.0.0.1"]
SERVICE_TYPE = "_sample._tcp.local."
SAMPLE = Announcement(SERVICE_TYPE, "SAMPLE", {"path": "/v1", "ver": "1.2.3"})
FIXED = f"SAMPLE.{SERVICE_TYPE}"


class Browser:
    """Another machine that looks for servers."""

    def __init__(self) -> None:
        self.network = AsyncZeroconf(interfaces=LOOPBACK)
        self.seen: dict[str, bool] = {}
        self._changed = asyncio.Event()
        self._browser = AsyncServiceBrowser(
            self.network.zeroconf, SERVICE_TYPE, handlers=[self._notice]
        )

    def _notice(
        self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange
    ) -> None:
        self.seen[name] = state_change is not ServiceStateChange.Removed
        self._changed.set()

    async def until(self, *names: str) -> None:
        """Wait until exactly these are there; the test's time limit is the end of it."""
        while {name for name, there in self.seen.items() if there} != set(names):
            self._changed.clear()
            await self._changed.wait()

    async def ask(self, name: str) -> ServiceInfo:
        info = await self.network.async_get_service_info(SERVICE_TYPE, name)
        assert info is not None
        return info

    async def close(self) -> None:
        await self._browser.async_cancel()
        await self.network.async_close()


class Poll:
    """Stands in for the pause between two looks: it ends when the test says so."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self._go = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.waiting.set()
        await self._go.wait()
        self._go.clear()

    def over(self) -> None:
        self.waiting.clear()
        self._go.set()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    watching = Browser()
    yield watching
    await watching.close()


@pytest.fixture
async def announcer() -> AsyncIterator[Announcer]:
    announcing = Announcer(SAMPLE, lambda: LOOPBACK, interfaces=LOOPBACK)
    yield announcing
    await announcing.stop()


async def test_others_see_the_server_come_and_go(browser: Browser, announcer: Announcer) -> None:
    announcer.start(8080, "key")
    await browser.until(FIXED)
    info = await browser.ask(FIXED)

    assert info.port == 8080
    assert info.parsed_addresses() == LOOPBACK
    assert info.decoded_properties == {"path": "/v1", "ver": "1.2.3", "auth": "key"}

    await announcer.stop()
    await browser.until()
    assert announcer.name is None


@pytest.mark.parametrize("announcement", [bridge.ANNOUNCEMENT, llm.ANNOUNCEMENT])
def test_what_the_servers_announce_is_allowed_on_the_network(announcement: Announcement) -> None:
    info = service_info(announcement, 1, "open", LOOPBACK, "server.local.")
    assert info.decoded_properties["health"] == "/health"
    assert info.decoded_properties["ver"]


async def test_a_second_server_on_the_network_takes_a_numbered_name(
    browser: Browser, announcer: Announcer
) -> None:
    other = Announcer(SAMPLE, lambda: LOOPBACK, interfaces=LOOPBACK)
    announcer.start(8080, "open")
    await browser.until(FIXED)

    other.start(8081, "open")
    second = f"SAMPLE-2.{SERVICE_TYPE}"
    await browser.until(FIXED, second)

    assert (await browser.ask(second)).port == 8081
    await other.stop()
    await browser.until(FIXED)


async def test_addresses_are_announced_as_they_come_and_go(browser: Browser) -> None:
    addresses: list[str] = []
    poll = Poll()
    announcer = Announcer(SAMPLE, lambda: list(addresses), interfaces=LOOPBACK, sleep=poll)
    announcer.start(8080, "open")
    await poll.waiting.wait()
    assert browser.seen == {}
    for address in ("127.0.0.1", "127.0.0.2"):
        addresses[:] = [address]
        poll.over()
        if address == "127.0.0.2":
            await browser.until()
        await browser.until(FIXED)
        assert (await browser.ask(FIXED)).parsed_addresses() == [address]
        await poll.waiting.wait()
    await announcer.stop()


async def test_stopping_without_a_start_or_twice_does_nothing(announcer: Announcer) -> None:
    await announcer.stop()
    announcer.start(8080, "open")
    await announcer.stop()
    await announcer.stop()

    assert announcer.name is None


async def test_a_failure_is_said_once_and_tried_again(
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(**_: Any) -> AsyncZeroconf:
        raise Error("refused")

    poll = Poll()
    announcer = Announcer(SAMPLE, lambda: LOOPBACK, interfaces=LOOPBACK, sleep=poll)
    with monkeypatch.context() as broken:
        broken.setattr(discovery, "AsyncZeroconf", fail)
        announcer.start(8080, "open")
        for _ in range(3):
            await poll.waiting.wait()
            poll.over()
        await poll.waiting.wait()
    poll.over()

    await browser.until(FIXED)
    await announcer.stop()
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "the server is not announced on the network" in warnings[0].message


async def test_the_announcement_names_no_host_of_the_machine(announcer: Announcer) -> None:
    info = service_info(SAMPLE, 1, "open", LOOPBACK, announcer._server)

    assert socket.gethostname().lower() not in f"{info.server} {info.name}".lower()


def interfaces(monkeypatch: pytest.MonkeyPatch, table: dict[str, tuple[bool, list[str]]]) -> None:
    class State:
        def __init__(self, isup: bool) -> None:
            self.isup = isup

    class Address:
        def __init__(self, address: str) -> None:
            self.address = address
            self.family = socket.AF_INET6 if ":" in address else socket.AF_INET

    states = {name: State(up) for name, (up, _) in table.items()}
    addresses = {name: [Address(text) for text in texts] for name, (_, texts) in table.items()}
    monkeypatch.setattr(psutil, "net_if_stats", lambda: states)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: addresses)


def test_the_addresses_are_those_that_other_machines_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {
        "lo": (True, ["127.0.0.1", "::1"]),
        "wlan0": (True, ["192.0.2.7", "2001:db8::7", "fe80::7%wlan0"]),
        "usb0": (True, ["169.254.1.1"]),
        "eth9": (False, ["203.0.113.9"]),
    }
    interfaces(monkeypatch, table)

    assert reachable_addresses() == ["169.254.1.1", "192.0.2.7"]
