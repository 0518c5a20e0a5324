"""A bridge on each of its two databases."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest
import pytest_asyncio

from runtime.bridge import startup
from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import ROOT, Bridge, Json, bridging, settings_for
from tests.bridge.storage.storekit import KINDS

T = TypeVar("T")
NUMBERS = count()
Start = Callable[..., AbstractAsyncContextManager[Bridge]]
"""Starts a bridge; the arguments are settings."""
ONE_BACKEND = pytest.mark.parametrize("backend", ["lightweight"])
"""For what is asked behind the store, which gives the same rows of both (`test_reads.py`)."""


@pytest.fixture(scope="session", autouse=True)
def _shipped_files_are_read_once() -> Iterator[None]:
    """All bridges of a run share the project's own circuits and messages: half of their start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Library, "read", staticmethod(_read_shipped_once(Library.read)))
        patch.setattr(startup, "load_dbc", _read_shipped_once(load_dbc))
        yield


def _read_shipped_once(read: Callable[[Path], T]) -> Callable[[Path], T]:
    again = cache(read)
    return lambda path: (again if path.is_relative_to(ROOT / "data") else read)(path)


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the database and the files of a module lie."""
    return tmp_path_factory.mktemp("shared")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_bridge(folder: Path) -> AsyncIterator[Bridge]:
    """One bridge for all tests of a module that ask about the same sessions.

    Which database it has makes no difference: `tests/bridge/storage` and `tests/bridge/api` hold
    both to the same rows.
    """
    async with bridging(settings_for(folder)) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def each_bridge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Bridge]:
    """The same on each database in turn."""
    folder = tmp_path_factory.mktemp("shared")
    async with bridging(settings_for(folder, db_backend=request.param)) as running:
        yield running


@pytest.fixture
def sid() -> str:
    """The id of a session that no other test has."""
    return f"s{next(NUMBERS)}"
