"""A store of each kind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import KINDS, opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Backend:
    """Each back-end in turn."""
    chosen: Backend = request.param
    return chosen


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database of a test lies."""
    return tmp_path / "bridge.db"


@pytest.fixture
async def store(kind: Backend, path: Path) -> AsyncIterator[Store]:
    """An open, empty store."""
    made = await opened(path, kind)
    yield made
    await made.close()
