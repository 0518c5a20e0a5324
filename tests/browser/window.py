"""One Chromium window for the tests: where it is, what it shows, what went wrong in it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
DRIVER: Final = "chromedriver"
PHONE: Final = (390, 844)
LAPTOP: Final = (1280, 800)
FLAGS: Final = (
    "--headless=new",
    "--hide-scrollbars",  # as on a phone, where they lie over the page
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--lang=en-US",
)
WAIT_S: Final = 120.0
"""For anything, on a machine that is busy with other things: axe alone may take a minute there."""
SETTLED_S: Final = 3.0
"""For a page to follow the width of its window."""
T = TypeVar("T")


def installed() -> tuple[str, str] | None:
    """The paths of a browser and its driver, or None when one of them is missing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    return (browser, driver) if browser and driver else None


def axe_script() -> str:
    """The accessibility rules, from the package that carries them."""
    spec = find_spec("axe_playwright_python")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("axe-playwright-python is not installed")
    return Path(spec.submodule_search_locations[0], "axe.min.js").read_text("utf-8")


class Window:
    """A browser of its own, with a fresh profile in *profile*; :meth:`close` ends it.

    Without *logs* it does not note its requests, which takes a tenth of the time of a busy page.
    """

    def __init__(self, profile: Path, *, logs: bool = True) -> None:
        found = installed()
        if found is None:
            raise RuntimeError("no Chromium or no chromedriver")
        options = ChromeOptions()
        options.binary_location = found[0]
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        noted = {"browser": "ALL", "performance": "ALL"} if logs else {"browser": "ALL"}
        options.set_capability("goog:loggingPrefs", noted)
        self.driver = Chrome(options=options, service=ChromeService(executable_path=found[1]))
        self.driver.set_script_timeout(WAIT_S)
        self._axe = axe_script()

    def close(self) -> None:
        """End the browser and its driver."""
        self.driver.quit()

    def reset(self) -> None:
        """Laptop size, light, scripts on, nothing stored, logs empty."""
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.cdp("Emulation.setFocusEmulationEnabled", enabled=True)
        self.size(*LAPTOP)
        self.media(scheme="light")
        if self.driver.current_url.startswith("http"):
            origin = self.js("return location.origin")
            self.cdp("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.driver.get("about:blank")
        self.console()
        self.requests()

    def cdp(self, command: str, **parameters: Any) -> Any:
        """Send a command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(command, parameters)

    def size(self, width: int, height: int) -> None:
        """The size of the page area in CSS pixels."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, *, scheme: str = "light", medium: str = "") -> None:
        """The preferred colour scheme, and ``print`` for paper."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.cdp("Emulation.setEmulatedMedia", media=medium, features=features)

    def without_scripts(self) -> None:
        """Pages that are opened from here on run no script."""
        self.cdp("Emulation.setScriptExecutionDisabled", value=True)

    def open(self, url: str) -> None:
        """Load *url* and wait until it is complete."""
        self.driver.get(url)

    def js(self, code: str, *arguments: Any) -> Any:
        """Run *code* in the page; returns what it returns."""
        return self.driver.execute_script(code, *arguments)

    def all(self, selector: str) -> list[WebElement]:
        """The elements that match."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        """The first element that matches, once there is one."""
        return self.until(lambda: self.all(selector), what=selector)[0]

    def keys(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def held(self) -> dict[str, float]:
        """What the page holds once garbage is collected: kilobytes of its heap, and its nodes."""
        self.cdp("HeapProfiler.collectGarbage")
        self.cdp("Performance.enable")
        metrics = {
            row["name"]: row["value"] for row in self.cdp("Performance.getMetrics")["metrics"]
        }
        return {"kB of heap": metrics["JSHeapUsedSize"] / 1e3, "nodes": metrics["Nodes"]}

    def focus(self) -> WebElement:
        """The element that has the focus."""
        return self.driver.switch_to.active_element

    def until(self, condition: Callable[[], T], seconds: float = WAIT_S, what: str = "") -> T:
        """Wait for something true and return it; raises TimeoutError.

        An element that the page replaces meanwhile is looked for again.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(StaleElementReferenceException):
                if found := condition():
                    return found
            time.sleep(0.02)
        raise TimeoutError(f"{self.driver.current_url}: waited {seconds} s in vain {what}")

    def axe(self) -> list[dict[str, Any]]:
        """The violations that axe finds on the page as it is now."""
        self.js(f"if (!window.axe) {{ {self._axe} }}")
        result: list[dict[str, Any]] = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']})"
            ".then((r) => done(r.violations), (e) => done([{id: String(e), nodes: []}]));"
        )
        return result

    def barriers(self) -> list[str]:
        """The violations on the page as a light phone and as a dark laptop."""
        found = []
        for size, scheme in ((PHONE, "light"), (LAPTOP, "dark")):
            self.size(*size)
            self.media(scheme=scheme)
            found += [
                f"{size} {scheme}: {rule['id']} ({rule['impact']}) {node['target']}"
                for rule in self.axe()
                for node in rule["nodes"]
            ]
        return found

    def overflow(self, width: int) -> int:
        """Pixels by which the page is wider than a window of this width.

        Chromium counts an element that is wider than the page, unless it scrolls on its own.
        """
        self.size(width, 844)
        page = "document.documentElement"
        code = f"return {page}.scrollWidth - {page}.clientWidth"
        with suppress(TimeoutError):  # charts follow a moment later
            self.until(lambda: not self.js(code), SETTLED_S)
        over: int = self.js(code)
        return over

    def console(self) -> list[str]:
        """Warnings and errors of the page since the last call, policy violations included."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """The addresses that pages asked for since the last call."""
        entries = self.driver.get_log("performance")  # type: ignore[no-untyped-call]
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
