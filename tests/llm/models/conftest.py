"""Holds every test of this folder to the rule that the event loop never waits for a disk."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def _nothing_blocks_the_loop() -> Iterator[None]:
    with blockbuster_ctx("runtime"):
        yield
