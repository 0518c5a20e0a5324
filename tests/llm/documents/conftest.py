"""Opens stores for the tests and closes them afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from runtime.llm.documents.store import DocumentStore, StoreSettings

Open = Callable[..., Awaitable[DocumentStore]]
"""Opens the test's folder; the arguments are settings."""


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens stores; all are closed at the end of the test."""
    stores: list[DocumentStore] = []

    async def opened(folder: Path | None = None, **settings: int) -> DocumentStore:
        store = await DocumentStore.open(folder or tmp_path / "data", StoreSettings(**settings))
        stores.append(store)
        return store

    yield opened
    for store in stores:
        await store.close()


@pytest.fixture
async def store(opened: Open) -> DocumentStore:
    """A store with its ordinary settings."""
    return await opened()
