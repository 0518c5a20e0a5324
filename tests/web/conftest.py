"""What the tests of the plumbing share."""

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    """A call of the plumbing that would block the event loop fails the test."""
    with blockbuster_ctx("runtime.web"):
        yield
