"""The sites of the browser tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.course.coursekit import TRACE, with_body
from tests.course.sitekit import Host, built, served, site_headers


@pytest.fixture(scope="session")
def host(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The real course below a prefix, with the headers of its ``_headers`` file."""
    site = built(root, tmp_path_factory.mktemp("built") / "site")
    with served(site, "/course/", site_headers(site)) as running:
        yield running


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The small course of the tests, which has an alias, with a trace in one lesson."""
    folder = tmp_path_factory.mktemp("small")
    site = built(with_body(folder / "course", TRACE), folder / "site")
    with served(site, "/", site_headers(site)) as running:
        yield running
