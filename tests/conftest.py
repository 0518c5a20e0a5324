"""What every test shares: where the project lies, and which tests this machine can run."""

from pathlib import Path

import pytest

from tests.browser.window import installed


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip browser tests, with a reason, where the browser or its driver is missing."""
    if installed() is not None:
        return
    missing = pytest.mark.skip(reason="no Chromium with its driver; `make test-deps` installs them")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(missing)
