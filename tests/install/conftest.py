"""The wheel of this checkout, built once, and the figures of what was installed from it."""

from pathlib import Path

import pytest

from tests.install.kit import MEASURED, build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of sizes and start times."""
    if MEASURED:
        terminalreporter.write_line("\n| installed | packages | MB | processor s until ready |")
        for row in MEASURED:
            terminalreporter.write_line(f"| {' | '.join(row)} |")
