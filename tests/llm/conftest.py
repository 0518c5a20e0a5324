"""What the tests of the language-model server share: tiny models, and a server that has them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from runtime.llm.app import describe_api
from runtime.llm.errors import JsonObject
from tests.llm.serverkit import Json, Server, serving, settings_for, write_models

Start = Callable[..., AbstractAsyncContextManager[Server]]
"""Starts a server; the arguments are settings."""


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models of the tests; it is shared, so nothing is changed in it."""
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def document() -> JsonObject:
    """The OpenAPI document, made once: that takes longer than the rest of a server's start."""
    return describe_api()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Servers of the test do not see the model that comes with the project."""
    monkeypatch.setattr("runtime.llm.app.BUNDLED", tmp_path / "nothing" / "bundled.gguf")


@pytest.fixture
def start(tmp_path: Path, models: Path, alone: None) -> Start:
    """Starts a server of the test's own."""

    def start(**changes: Json) -> AbstractAsyncContextManager[Server]:
        folder = changes.pop("models", models)
        data = changes.pop("data_dir", tmp_path)
        return serving(settings_for(data, folder, **changes))

    return start


@pytest.fixture
async def server(start: Start) -> AsyncIterator[Server]:
    """A server with its ordinary settings."""
    async with start() as running:
        yield running


@asynccontextmanager
async def for_all(models: Path, folder: Path, **changes: Json) -> AsyncIterator[Server]:
    """A server for all tests of a module: none depends on another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runtime.llm.app.BUNDLED", folder / "bundled.gguf")
        async with serving(settings_for(folder, models, **changes)) as running:
            yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(models: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """Such a server with its ordinary settings."""
    async with for_all(models, tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compat(models: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """Such a server under the setting compat."""
    async with for_all(models, tmp_path_factory.mktemp("compat"), compat=True) as running:
        yield running
