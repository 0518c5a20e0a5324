"""Programs that run in the page, by a stand-in of Python: in order, changed, and stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.remote.webelement import WebElement

from course.publish.shell import PYTHON_FOLDER
from tests.browser.window import PHONE, Window
from tests.course.coursekit import edited, with_body
from tests.course.sitekit import Host, built, served, site_headers

pytestmark = pytest.mark.browser

LESSON = "lessons/brake-trace/"
BODY = """
```python
lap_s = 61.2
```

```python
print(lap_s)
```

```text expected
61.2
```
"""
# Says what it is to run; loops and fails on demand.
STAND_IN = b"""export async function loadPyodide({ stdout }) {
  let count = 0;
  return { async runPythonAsync(source) {
    if (source.includes("while True")) for (;;) { /* until it is stopped */ }
    if (source.includes("oops")) throw new Error("NameError: name 'oops' is not defined");
    count += 1;
    stdout(`${count}: ${source.trim()}`);
  } };
}
"""
CHANGE = """arguments[0].textContent = arguments[1];
arguments[0].dispatchEvent(new Event('input'));"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A small course whose programs run in the page."""
    folder = tmp_path_factory.mktemp("run")
    root = with_body(folder / "course", BODY)
    edited(root, "content/course.yaml", ("parts:", "runInPage: true\nparts:"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course.pyodide.runtime", lambda _: {f"{PYTHON_FOLDER}pyodide.mjs": STAND_IN})
        site = built(root, folder / "site")
    with served(site, "/", site_headers(site)) as running:
        yield running


class Block:
    """One program on the page."""

    def __init__(self, window: Window, number: int) -> None:
        self.window = window
        self.button: WebElement = window.all(".code > .run")[number]
        self.code: WebElement = window.all(".code[id] code")[number]
        self.output: WebElement = window.all(".code.mine")[number]

    def run(self) -> str:
        """Run it; returns what stands below it then."""
        self.button.click()
        self.window.until(lambda: self.button.text == "Run")
        return self.output.find_element("css selector", "samp").text


def test_a_program_runs_after_those_above_it(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    assert Block(window, 1).run() == "2: print(lap_s)"
    assert Block(window, 0).run() == "1: lap_s = 61.2"  # from the beginning again
    assert Block(window, 1).run() == "2: print(lap_s)"
    assert window.console() == []


def test_a_reader_changes_a_program(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    block = Block(window, 0)
    block.code.click()
    block.code.send_keys("\ue010# mine")
    assert "# mine" in block.run()
    window.js(CHANGE, block.code, "oops")
    assert "NameError" in block.run()
    assert "failed" in str(block.output.get_attribute("class"))


def test_an_endless_program_is_stopped(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    block = Block(window, 0)
    window.js(CHANGE, block.code, "while True: pass")
    block.button.click()
    assert block.button.text == "Stop"
    block.button.click()
    assert block.button.text == "Run"
    assert not block.output.is_displayed()
    window.js(CHANGE, block.code, "print(1)")
    assert block.run() == "1: print(1)"


def test_the_buttons_are_for_everybody(window: Window, host: Host) -> None:
    window.size(*PHONE)
    window.open(host.url + LESSON)
    Block(window, 0).run()
    assert [fault["id"] for fault in window.axe()] == []
    assert window.js("return document.documentElement.scrollWidth") == PHONE[0]


def test_without_the_option_no_page_runs_python(window: Window, small: Host) -> None:
    window.open(small.url + "lessons/read-a-lap/")
    assert window.all(".code > .run") == []


def test_a_site_without_the_option_has_no_python(small: Host, tmp_path: Path) -> None:
    site = built(with_body(tmp_path / "course", BODY), tmp_path / "site")
    assert not (site / "python").exists()
    assert "wasm" not in (site / "_headers").read_text("utf-8")
