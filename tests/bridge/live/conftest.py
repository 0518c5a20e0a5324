"""A bridge that streams, on each of its databases."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from tests.bridge.bridgekit import Json, settings_for
from tests.bridge.live.streamkit import Live, living

Begin = Callable[..., AbstractAsyncContextManager[Live]]
"""Starts a bridge that streams; the arguments are settings."""


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    """Starts a bridge of the test's own."""

    def begin(port: int = 0, **changes: Json) -> AbstractAsyncContextManager[Live]:
        return living(settings_for(tmp_path, **changes), port)

    return begin


@pytest.fixture
async def live(begin: Begin) -> AsyncIterator[Live]:
    """A bridge that streams, where the kind of database does not matter."""
    async with begin() as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    """A call of the streams that would block the event loop fails the test."""
    with blockbuster_ctx("runtime.bridge.live"):
        yield
