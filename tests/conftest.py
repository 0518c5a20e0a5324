"""What every test shares: where the project lies, and which tests this machine can run."""

import shutil
from pathlib import Path

import pytest

DRIVERS = ("chromedriver",)


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip browser tests, with a reason, where no driver is installed."""
    if any(shutil.which(driver) for driver in DRIVERS):
        return
    missing = pytest.mark.skip(reason="no browser driver; `make test-deps` installs one")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(missing)
