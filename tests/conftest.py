"""What every test shares: where the project lies, and which tests this machine can run."""

import gc
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import onnxruntime  # type: ignore[import-untyped]  # noqa: F401 - crashes if usearch comes first
import pytest
from hypothesis import HealthCheck, settings
from tqdm import tqdm

from tests.browser.window import Window, installed
from tests.effort import EFFORT, repeats


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a local S3-compatible store that speaks real HTTP."""
    from moto.server import ThreadedMotoServer  # few tests need it, and it is large

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """One browser for all tests; :func:`window` is what a test takes."""
    opened = Window(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def window(browser: Window) -> Window:
    """The browser window as a new reader has it: a laptop, light, nothing remembered."""
    browser.reset()
    return browser


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_no_garbage() -> None:
    """What earlier modules left is not looked through again and again by those that follow."""
    gc.collect()
    gc.freeze()


def interrupt(*_: object) -> None:
    """End the tests as Ctrl-C does."""
    raise KeyboardInterrupt


def pytest_configure() -> None:
    """Let made-up examples take their time, on a machine that is busy with something else.

    And heed Ctrl-C: a shell that puts the tests in the background has it ignored, in all they
    start, and some of them interrupt a program. The handler is our own, since asyncio replaces
    Python's by one that holds the result of what runs, and the standard library writes that out,
    telemetry included, each time it looks at the handler.
    """
    settings.register_profile(
        "busy",
        max_examples=repeats(25),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("busy")
    gc.set_threshold(20_000, 20, 100)  # the test modules alone fill a heap that is slow to walk
    tqdm.monitor_interval = 0  # its thread would keep the course from forking
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow tests first, and browser tests, which leave threads running, last or skip them.

    A file is run by one process: a long one that comes last would keep the others waiting.
    """
    for item in items:
        limit = item.get_closest_marker("timeout")
        if limit is not None and EFFORT > 1:
            item.add_marker(pytest.mark.timeout(limit.args[0] * EFFORT), append=False)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("browser") is not None,
            item.get_closest_marker("slow") is None,
        )
    )
    if installed() is not None:
        return
    missing = pytest.mark.skip(reason="no Chromium with its driver; `make test-deps` installs them")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(missing)


def pytest_unconfigure() -> None:
    """Let the interpreter clean up as usual."""
    gc.unfreeze()
