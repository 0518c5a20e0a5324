"""The session that a new database begins with."""

import asyncio

from runtime.bridge.lifespan import EXAMPLE_SESSION
from tests.bridge.conftest import Start
from tests.waiting import until


async def test_an_example_that_was_deleted_does_not_come_back(start: Start) -> None:
    async with start(example=True) as bridge:
        store = bridge.service.db
        await until(lambda: store.session(EXAMPLE_SESSION) is not None)
        await bridge.ok("DELETE", f"/session/{EXAMPLE_SESSION}")
    async with start(example=True) as bridge:
        await asyncio.gather(*bridge.service._background)
        assert (await bridge.ok("GET", "/sessions"))["count"] == 0
