"""A bridge on each database, which several tests ask about the same sessions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bridge.bridgekit import Bridge, bridging, settings_for
from tests.bridge.storage.storekit import KINDS


@pytest.fixture(scope="package", params=KINDS)
def each_backend(request: pytest.FixtureRequest) -> str:
    """Each database in turn."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the database and the files of a module lie."""
    return tmp_path_factory.mktemp("truth")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_bridge(each_backend: str, folder: Path) -> AsyncIterator[Bridge]:
    """One bridge for all tests of a module."""
    settings = settings_for(folder, db=folder / each_backend, db_backend=each_backend)
    async with bridging(settings) as running:
        yield running
