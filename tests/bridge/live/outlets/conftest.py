"""Outlets that lose no time."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx

from runtime.bridge.live.outlets import outlet
from runtime.bridge.live.outlets.influx import Influx


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are sent as they come, and a server that is away is tried again at once."""
    monkeypatch.setattr(Influx, "pause_s", 0.0)
    monkeypatch.setattr(outlet, "FIRST_RETRY_S", 0.02)
    monkeypatch.setattr(outlet, "LAST_RETRY_S", 0.02)


@pytest.fixture(autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    with blockbuster_ctx("runtime.bridge.live.outlets"):
        yield
