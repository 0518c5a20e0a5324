"""The page of the language-model server, as a reader has it: chat, documents, engines, the key."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.browser.window import PHONE, Window
from tests.llm import tinymodel
from tests.llm.engine.onnxkit import write_tiny

pytestmark = pytest.mark.browser

KEY: Final = "k3y"
LONG: Final = 1 << 17
"""Tokens of context: what never ends lasts a while."""
HOSTILE: Final = """# A title <script>window.hacked = 1</script>

<img src="x" onerror="window.hacked = 2"> **bold <b>not</b>** and
[script](javascript:window.hacked=3), [data](data:text/html,<b>1</b>), [own](/v1/requests),
![picture](https://picture.example/x.png), [lesson](https://lesson.example/apex?a=1&b=2).

1. one `<i>code</i>`
2. two
   - deeper

| a | b |
|---|--:|
| <u>1</u> | 2 |

```python
print("<em>wide</em>")  # wide
```
""".replace("# wide", " ".join(f"# wide{n}" for n in range(60)))
NOTES: Final = {
    "turn 7": "Brake late at the board and turn the car right into the corner.",
    "rain": "Rain on the track: slow hand and small throttle.",
}
TEXT: Final = ".exchange:last-child .reply > .text"
DONE: Final = ".exchange:last-child .foot"


def split(text: str, pieces: int) -> list[bytes]:
    """The text in so many tokens."""
    whole = text.encode()
    size = len(whole) // pieces
    return [whole[size * n : size * (n + 1) if n < pieces - 1 else None] for n in range(pieces)]


def write_models(folder: Path) -> Path:
    """``hostile`` writes what should do harm, ``endless`` never ends, and a sentence encoder."""
    folder.mkdir(parents=True)
    pieces = 24
    plain = [[b"%s%d " % (name, n) for n in range(pieces)] for name in (b"green", b"blue", b"gold")]
    shape = tinymodel.Shape(context=4096)
    tinymodel.write_recall(folder / "hostile.gguf", [split(HOSTILE, pieces), *plain], shape=shape)
    words = [[b"%s%d " % (name, n) for n in range(3)] for name in (b"r", b"g", b"b", b"y")]
    long = tinymodel.Shape(context=LONG)
    tinymodel.write_recall(folder / "endless.gguf", words, endless=True, shape=long)
    write_tiny(folder)
    return folder


@contextmanager
def served(data: Path, *, models: Path, key: str = "") -> Iterator[str]:
    """The address of a server with the models in a folder, beside the coach that comes along."""
    command = [sys.executable, "-m", "runtime.llm", "--port", "0"]
    folders = ["--data-dir", str(data), "--models-dir", str(models), "--default-context", str(LONG)]
    environment = {**os.environ, "LLMSVC_API_KEY": key}
    with subprocess.Popen(
        command + folders, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}/"
        process.terminate()
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("page") / "models")


@pytest.fixture(scope="module")
def llm(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("open"), models=models) as address:
        yield address


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a key, and with no model but the coach."""
    data = tmp_path_factory.mktemp("locked")
    with served(data, models=data / "none", key=KEY) as address:
        yield address


@pytest.fixture
def page(window: Window, llm: str) -> Window:
    """The chat, new, at temperature 0."""
    opened(window, llm)
    return window


def opened(window: Window, address: str, view: str = "chat") -> None:
    """Open a view at temperature 0; what an earlier test left in the tab is forgotten."""
    window.open(f"{address}health")  # the page itself would write down what it knows as it goes
    settings = json.dumps({"temperature": "0"})
    forget = "sessionStorage.clear(); sessionStorage.setItem('paddock.settings', arguments[0])"
    window.js(forget, settings)
    window.open(f"{address}#{view}")


def choose(window: Window, model: str) -> None:
    window.until(lambda: window.all(f"#model option[value='{model}']"))
    Select(window.one("#model")).select_by_value(model)


def ask(window: Window, text: str) -> None:
    window.one("#question").send_keys(text)
    window.one("#question").send_keys(Keys.ENTER)


def answered(window: Window) -> str:
    """Wait for the end of the reply; its text."""
    window.until(lambda: window.all(DONE))
    return window.one(TEXT).text


def figures(window: Window) -> dict[str, str]:
    names, values = (window.all(f"{DONE} {tag}") for tag in ("dt", "dd"))
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def complaints(window: Window) -> list[str]:
    """What the browser has to say, but for the icon of the plain answer that was opened first."""
    return [line for line in window.console() if "/favicon.ico" not in line]


def asked(address: str, path: str, key: str = "") -> Any:
    request = urllib.request.Request(address + path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


# Chat


def test_an_example_is_answered_by_the_model_that_comes_along(page: Window) -> None:
    page.until(lambda: "demonstration" in page.one("#about-model").text)
    assert page.one("#empty").is_displayed()
    assert len(page.all("#examples button")) == 3
    page.one("#examples button").click()
    assert len(answered(page)) > 20
    shown = figures(page)
    assert {"First word", "Reply", "Prompt kept"} <= shown.keys()
    assert int(shown["Reply"].removesuffix(" tok")) > 5
    assert not page.one("#empty").is_displayed()
    assert page.one("#spoken").get_attribute("textContent") == page.one(TEXT).text


def test_a_further_turn_keeps_what_was_read(page: Window) -> None:
    choose(page, "hostile")
    ask(page, "<green>")
    assert answered(page).startswith("green0 green1")
    assert figures(page)["Prompt kept"].startswith("0 of ")
    ask(page, "<blue>")
    page.until(lambda: len(page.all(".exchange .foot")) == 2)
    kept, prompt = map(int, re.findall(r"\d+", figures(page)["Prompt kept"]))
    assert 0 < kept < prompt


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_stop_ends_the_work_of_the_engine(page: Window, llm: str, way: str) -> None:
    choose(page, "endless")
    ask(page, "go on")
    page.until(lambda: page.one(TEXT).text.count(" ") > 10)
    assert not page.one("#send").is_displayed()
    if way == "button":
        page.one("#stop").click()
    else:
        page.keys(Keys.ESCAPE)
    page.until(lambda: "You stopped this reply." in page.one(".exchange:last-child").text)
    page.until(lambda: not asked(llm, "v1/requests")["running"])
    assert asked(llm, "v1/requests")["last"][0]["state"] == "cancelled"
    assert page.one("#send").is_displayed()
    assert page.focus().get_attribute("id") == "question"


def test_enter_sends_and_shift_enter_starts_a_line(page: Window) -> None:
    choose(page, "hostile")
    box = page.one("#question")
    low = box.size["height"]
    box.send_keys("<gold>")
    shifted = ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ENTER)
    shifted.key_up(Keys.SHIFT).send_keys("second line").perform()
    assert page.all(".exchange") == []
    assert box.size["height"] > low
    box.send_keys(Keys.ENTER)
    assert page.one(".ask").text == "<gold>\nsecond line"
    assert box.get_attribute("value") == ""
    assert box.size["height"] == low
    answered(page)


def test_the_place_in_the_queue_is_shown_until_it_is_ones_turn(page: Window, llm: str) -> None:
    body = {"model": "endless", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    busy = urllib.request.Request(f"{llm}v1/chat/completions", data=json.dumps(body).encode())
    with urllib.request.urlopen(busy, timeout=30) as running:
        running.readline()
        choose(page, "hostile")
        ask(page, "<gold>")
        place = "Place 2 in the queue\none request is before yours"
        page.until(lambda: place in page.one(".queue").text)
        assert len(page.all(".grid-places i")) == 2
    assert answered(page).startswith("gold0")
    assert "Waited" in figures(page)


def test_an_error_has_the_words_of_the_server_and_can_be_tried_again(page: Window) -> None:
    choose(page, "hostile")
    page.js("arguments[0].selectedOptions[0].value = 'nowhere'", page.one("#model"))
    ask(page, "<blue>")
    page.until(lambda: page.all(".exchange .problem"))
    assert "This machine has no such model" in page.one(".exchange .problem").text
    page.js("arguments[0].selectedOptions[0].value = 'hostile'", page.one("#model"))
    page.one(".exchange .problem .button").click()
    assert answered(page).startswith("blue0")
    assert len(page.all(".exchange")) == 1


def test_what_a_model_writes_does_no_harm(page: Window) -> None:
    choose(page, "hostile")
    ask(page, "<red>")
    page.until(lambda: page.all(DONE))
    text = page.one(TEXT)
    assert page.js("return window.hacked") is None
    assert "<script>window.hacked = 1</script>" in text.text
    assert '<img src="x" onerror="window.hacked = 2">' in text.text
    for tag in ("script", "img", "iframe", "b", "i", "u", "em"):
        assert text.find_elements("css selector", tag) == [], tag
    links = text.find_elements("css selector", "a")
    assert [link.get_attribute("href") for link in links] == [
        "https://picture.example/x.png",
        "https://lesson.example/apex?a=1&b=2",
    ]
    assert {link.get_attribute("rel") for link in links} == {"noopener noreferrer nofollow"}
    assert complaints(page) == []
    shape = ("h4", "strong", "ol > li > ul > li", "span > code", "td.right", "figure pre code")
    for selector in shape:
        assert len(text.find_elements("css selector", selector)) == 1, selector
    assert text.find_element("css selector", "figure pre").text.startswith('print("<em>wide</em>")')


def test_conversations_are_kept_over_a_reload_and_deleted(page: Window, llm: str) -> None:
    choose(page, "hostile")
    for question in ("<green> first", "<blue> second"):
        page.one(".rail [data-new-chat]").click()
        ask(page, question)
        answered(page)
    window_titles = [button.text for button in page.all("#conversations button:first-child")]
    assert window_titles == ["<blue> second", "<green> first"]
    page.open("about:blank")
    page.open(llm)
    page.all("#conversations button:first-child")[1].click()
    assert page.one(TEXT).text.startswith("green0")
    page.all("#conversations .remove")[1].click()
    page.one("#confirm-ok").click()
    page.until(lambda: len(page.all("#conversations li")) == 1)
    assert page.one("#empty").is_displayed()


def test_the_settings_reach_the_server(page: Window) -> None:
    page.one("#open-tuning").click()
    for name, value in (("system", "<gold>"), ("reply-tokens", "3")):
        page.one(f"#{name}").send_keys(value)
    page.one("#tuning .button").click()
    choose(page, "hostile")
    ask(page, "what now?")
    assert answered(page).strip() == "gold0 gold1 gold2"
    assert "The token budget ended this reply." in page.one(".exchange").text


def test_the_keyboard_reaches_everything_and_shows_where_it_is(page: Window) -> None:
    page.until(lambda: page.focus().get_attribute("id") == "question")
    page.js("document.querySelector('.skip').focus()")
    stops, outlined = [], []
    for _ in range(13):
        page.keys(Keys.TAB)
        stop = page.focus()
        stops.append(stop.get_attribute("id") or stop.text.partition("\n")[0])
        outlined.append(page.js("return getComputedStyle(arguments[0]).outlineStyle", stop))
    assert stops[:5] == ["Paddock", "Chat", "Documents", "Engines", "New chat"]
    assert stops[-4:] == ["question", "model", "open-tuning", "send"]
    assert "none" not in outlined


def test_on_a_phone_the_conversations_are_a_drawer(page: Window, llm: str) -> None:
    page.size(*PHONE)
    opened(page, llm)
    choose(page, "hostile")
    ask(page, "<green>")
    answered(page)
    assert not page.one("#rail").is_displayed()
    page.one("[popovertarget=rail]").click()
    page.until(page.one("#rail").is_displayed)
    page.one("#rail [data-new-chat]").click()
    page.until(lambda: not page.one("#rail").is_displayed())
    assert page.one("#empty").is_displayed()


# The key


def test_the_key_is_asked_for_once_and_stays_in_the_tab(window: Window, locked: str) -> None:
    opened(window, locked)
    window.until(lambda: window.one("#key-dialog").is_displayed())
    assert not window.one("#key-wrong").is_displayed()
    window.one("#key").send_keys("wrong", Keys.ENTER)
    window.until(lambda: window.one("#key-wrong").is_displayed())
    window.one("#key").send_keys(KEY, Keys.ENTER)
    window.until(lambda: window.all("#model option"))
    window.one("#examples button").click()
    assert answered(window)
    window.open("about:blank")
    window.open(locked)
    window.until(lambda: window.all("#model option"))
    assert not window.one("#key-dialog").is_displayed()
    assert window.js("return Object.values(localStorage).length + document.cookie.length") == 0


def test_without_the_key_the_page_says_so_and_asks_when_it_is_needed(
    window: Window, locked: str
) -> None:
    opened(window, locked)
    window.until(lambda: window.one("#key-dialog").is_displayed())
    window.keys(Keys.ESCAPE)
    window.until(lambda: "key is needed" in window.one("#about-model").text)
    ask(window, "hello")
    window.until(lambda: window.one("#key-dialog").is_displayed())
    window.keys(Keys.ESCAPE)
    window.until(lambda: window.all(".exchange .problem"))
    assert "API key" in window.one(".exchange .problem").text
    window.one("#change-key").click()
    window.one("#key").send_keys(KEY, Keys.ENTER)
    window.until(lambda: window.all("#model option"))
    window.one(".exchange .problem .button").click()
    assert answered(window)


# Documents


def test_without_an_embedding_model_the_page_names_the_command(window: Window, locked: str) -> None:
    opened(window, locked)
    window.until(lambda: window.one("#key-dialog").is_displayed())
    window.one("#key").send_keys(KEY, Keys.ENTER)
    window.one(".tabs a[href='#documents']").click()
    window.until(lambda: window.one(".missing").is_displayed())
    assert window.one(".missing code").text == "python -m runtime.llm pull minilm"
    assert not window.one("#query").is_enabled()


def test_documents_are_added_found_and_deleted(window: Window, llm: str, tmp_path: Path) -> None:
    opened(window, llm, "documents")
    window.until(lambda: window.one("#query").is_enabled())
    window.one("#owner").clear()
    window.one("#owner").send_keys("Küche", Keys.TAB)
    window.until(lambda: "Nothing stored" in window.one("#documents-view").text)
    window.one(".fold summary").click()
    window.one("#name").send_keys("turn 7")
    window.one("#text").send_keys(NOTES["turn 7"])
    window.one(".fold button").click()
    window.until(lambda: "1 document" in window.one("#documents-view").text)
    for name in ("rain.md", "picture.png"):
        (tmp_path / name).write_text(NOTES["rain"])
        window.one("#files").send_keys(str(tmp_path / name))
    window.until(lambda: "2 documents" in window.one("#documents-view").text)
    assert "picture.png is no text" in window.one(".log").text

    window.one("#query").send_keys("where do I turn right?", Keys.ENTER)
    window.until(lambda: len(window.all(".hits li")) == 2)
    scores = [float(score.text) for score in window.all(".hits b")]
    assert scores == sorted(scores, reverse=True)
    passages = {passage.text for passage in window.all(".passage")}
    assert passages == set(NOTES.values())

    window.one(".rows li:last-child button").click()
    window.one("#confirm-ok").click()
    window.until(lambda: "1 document" in window.one("#documents-view h2:not(.aside h2)").text)
    assert [row.text for row in window.all(".rows strong")] == ["rain.md"]


# Engines


def test_an_engine_is_made_ready_shown_and_unloaded(window: Window, llm: str) -> None:
    opened(window, llm, "engines")
    window.until(lambda: window.all("#engines-view .rows li"))
    window.one("#engines-view .beside").click()
    unload = window.one("#engines-view .beside button")
    if unload.is_displayed():  # what earlier tests have left
        unload.click()
    button = "document.querySelector('[data-key=\"Make ready hostile\"]')"
    press = f"const button = {button}; button?.click(); return button !== null"
    window.until(lambda: window.js(press))  # the row is drawn anew as its model leaves the memory
    window.until(lambda: any("hostile" in card.text for card in window.all("#engines-view .card")))
    assert "threads" in window.one("#engines-view .cards").text
    assert re.search(r"Ready after \d", window.one("#engines-view").text)
    unload.click()
    window.until(lambda: window.all("#engines-view .card") == [])


def test_nothing_is_asked_while_the_page_is_hidden_or_another_view_is_open(
    window: Window, llm: str
) -> None:
    opened(window, llm, "engines")
    window.until(lambda: window.all("#engines-view .rows li"))
    window.requests()
    window.until(lambda: any(url.endswith("/health") for url in window.requests()))
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    changed = "document.dispatchEvent(new Event('visibilitychange'))"
    window.js(hide % "true" + changed)
    window.js("return fetch('/health').then(() => {})")  # by now, earlier requests are noted
    window.requests()
    waited = "const done = arguments[arguments.length - 1]; setTimeout(done, 3000)"
    window.driver.execute_async_script(waited)
    assert window.requests() == []
    window.js(hide % "false" + changed)
    window.until(lambda: any(url.endswith("/health") for url in window.requests()))
    window.one(".tabs a[href='#documents']").click()
    window.until(lambda: window.all("#documents-view .rows"))
    window.js("return fetch('/health').then(() => {})")
    window.requests()
    window.driver.execute_async_script(waited)
    assert window.requests() == []


# Every state


def show_reply(window: Window) -> None:
    choose(window, "hostile")
    ask(window, "<red> " + "w" * 200)
    answered(window)


def show_error(window: Window) -> None:
    choose(window, "hostile")
    page_says = "arguments[0].selectedOptions[0].value = arguments[1]"
    window.js(page_says, window.one("#model"), "nowhere")
    ask(window, "hello")
    window.until(lambda: window.all(".exchange .problem"))
    window.js(page_says, window.one("#model"), "hostile")


def show_settings(window: Window) -> None:
    window.one("#open-tuning").click()


def show_key(window: Window) -> None:
    window.js("document.getElementById('key-dialog').showModal()")


def show_nothing(window: Window) -> None:
    window.until(lambda: window.all("#model option, #engines-view .rows li, #documents-view .rows"))


def show_hits(window: Window) -> None:
    window.until(lambda: window.one("#query").is_enabled())
    window.one(".fold summary").click()
    window.one("#name").send_keys("w" * 200)
    window.one("#text").send_keys("w" * 300)
    window.one(".fold button").click()
    window.until(lambda: "document" in window.one("#documents-view h2:not(.aside h2)").text)
    window.one("#query").send_keys("corner", Keys.ENTER)
    window.until(lambda: window.all(".hits li"))


STATES = {
    "empty": ("chat", show_nothing),
    "reply": ("chat", show_reply),
    "error": ("chat", show_error),
    "settings": ("chat", show_settings),
    "key": ("chat", show_key),
    "documents": ("documents", show_hits),
    "engines": ("engines", show_nothing),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_quiet_without_a_barrier_and_fits_the_screen(
    window: Window, llm: str, state: str
) -> None:
    view, show = STATES[state]
    opened(window, llm, view)
    show(window)
    assert window.barriers() == []
    for width in (320, 390, 1440):
        assert window.overflow(width) == 0, width
    missing = "the server responded with a status of 404"
    assert [line for line in complaints(window) if state != "error" or missing not in line] == []
    addresses = [url for url in window.requests() if not url.startswith(("data:", "about:"))]
    assert [url for url in addresses if not url.startswith(llm)] == []


def test_the_content_policy_is_in_force(page: Window) -> None:
    page.js(
        "const style = document.createElement('style');"
        "style.textContent = 'body { display: none }';"
        "document.head.append(style);"
    )
    assert any("Content Security Policy" in line for line in page.console())
    assert page.one("body").is_displayed()
