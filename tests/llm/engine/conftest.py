"""What the tests of the server's side of its engines share."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx

from tests.llm.engine.pretended import Rig


@pytest.fixture
def nothing_blocks_the_loop() -> Iterator[None]:
    with blockbuster_ctx("runtime"):
        yield


@pytest.fixture
async def rig() -> Rig:
    return Rig()
