"""A bridge which several tests ask about the same sessions.

Which database it has makes no difference: `tests/bridge/storage` and `tests/bridge/api` hold both
to the same rows.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bridge.bridgekit import Bridge, bridging, settings_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the database and the files of a module lie."""
    return tmp_path_factory.mktemp("truth")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_bridge(folder: Path) -> AsyncIterator[Bridge]:
    """One bridge for all tests of a module."""
    async with bridging(settings_for(folder)) as running:
        yield running
