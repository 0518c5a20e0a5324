"""A bridge on each of its two databases."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.storage.storekit import KINDS

Start = Callable[..., AbstractAsyncContextManager[Bridge]]
"""Starts a bridge; the arguments are settings."""


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each database in turn."""
    kind: str = request.param
    return kind


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a bridge of the test's own."""

    def start(**changes: Json) -> AbstractAsyncContextManager[Bridge]:
        return bridging(settings_for(tmp_path, **changes))

    return start


@pytest.fixture
async def bridge(start: Start, backend: str) -> AsyncIterator[Bridge]:
    """A bridge with its ordinary settings, on each database."""
    async with start(db_backend=backend) as running:
        yield running
