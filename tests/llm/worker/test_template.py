"""Chat templates are untrusted code that must neither lose an instruction nor hold a process."""

import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime

import psutil
import pytest

from runtime.llm.engine.worker.prompt import (
    CHATML,
    CHATML_TURNS,
    Renderer,
    Script,
    TemplateBroken,
    TemplateFailed,
    is_chatml,
)
from runtime.llm.engine.worker.template import Template
from runtime.llm.inference import Tool, ToolCall, Turn
from runtime.llm.messages import make_message, make_offer
from tests.llm import tinymodel
from tests.llm.worker.harness import spoken


def script(*messages: tuple[str, str]) -> Script:
    return Script(spoken(messages))


TALK = script(
    ("system", "Coach."),
    ("user", "Turn 9?"),
    ("assistant", "Brake late."),
    ("user", "Turn 3?"),
)
NO_SYSTEM = (
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "<{{ m.role }}>{{ m.content | trim }}{{ eos_token }}{% endfor %}<assistant>"
)
FIRST_SYSTEM = (
    "{% if messages[0].role == 'system' %}[{{ messages[0].content }}]{% endif %}"
    "{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}"
    "{% endfor %}<assistant>"
)
ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}"
    "{% endfor %}<assistant>"
)
PARTS = (
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{{ p.text }}{% endfor %}"
    "{% endfor %}<assistant>"
)


@pytest.mark.parametrize(
    "talk",
    [
        Script(TALK.messages[1:2]),
        Script(TALK.messages[:2]),
        TALK,
        script(("user", "{{ 7 * 7 }}")),
    ],
)
def test_the_built_in_chatml_is_what_its_template_renders(talk: Script) -> None:
    assert CHATML_TURNS.render(talk) == Template(CHATML, "", "").render(talk)


def test_the_spelling_of_chatml_does_not_matter() -> None:
    assert is_chatml(tinymodel.CHATML)
    assert not is_chatml(tinymodel.CHATML + "x")


def test_what_follows_the_last_reply_is_told_apart() -> None:
    rendering = Template(CHATML, "", "").render(TALK)
    before, _, after = rendering.text.partition("Brake late.")
    assert rendering.after == after
    assert before.endswith("<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (NO_SYSTEM, "<user>Coach.\n\nBe brief.\n\nGo</s><assistant>"),
        (FIRST_SYSTEM, "[Coach.\n\nBe brief.]<user>Go<assistant>"),
        (PARTS, "<system>Coach.<user>Go<system>Be brief.<assistant>"),
    ],
)
def test_no_instruction_is_lost(source: str, expected: str) -> None:
    talk = script(("system", "Coach."), ("user", "Go"), ("system", "Be brief."))
    assert Template(source, "", "</s>").render(talk).text == expected


CALLS = (
    "{% for t in tools or [] %}({{ t.function.name }}){% endfor %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content }}{{ m.content }}"
    "{% for c in m.tool_calls %}[{{ c.id }} {{ c.function.name }} ARGUMENTS]{% endfor %}"
    "{% if m.role == 'tool' %}{{ m.tool_call_id }}{% endif %}{% endfor %}<assistant>{{ mood }}"
)
TOOLED = Script(
    [
        make_message(Turn("user", "Turn 9?")),
        make_message(Turn("assistant", "", (ToolCall("c1", "f", '{"ü": [1]}'),), reasoning="Hm.")),
        make_message(Turn("tool", "34 bar", tool_call_id="c1")),
    ],
    [make_offer(Tool("f", "", "{}"))],
    {"mood": "calm", "messages": "none", "raise_exception": 1},
)
TOLD = '(f)<user>Turn 9?<assistant>Hm.[c1 f {"ü": [1]}]<tool>34 barc1<assistant>calm'


@pytest.mark.parametrize(
    "arguments",
    ["{{ c.function.arguments | tojson }}", "{{ '' + c.function.arguments }}"],
)
def test_calls_and_results_are_rendered_with_arguments_as_the_template_wants_them(
    arguments: str,
) -> None:
    rendering = Template(CALLS.replace("ARGUMENTS", arguments), "", "").render(TOOLED)
    assert rendering.text == TOLD
    assert rendering.after == "<tool>34 barc1<assistant>calm"


def test_arguments_that_are_no_object_stay_text() -> None:
    for text in ("no JSON", "[1]", '{"a": 1e999}', '{"a":' * 65 + "1" + "}" * 65, "[" * 9999):
        turn = Turn("assistant", "", (ToolCall("c1", "f", text),))
        assert make_message(turn)["tool_calls"][0]["function"]["arguments"] == text


REFUSED = "the model's chat template rejected these messages: "
UNRENDERABLE = "the model's chat template cannot be rendered: "


def test_a_template_that_refuses_the_roles_says_so() -> None:
    with pytest.raises(TemplateFailed, match=f"^{REFUSED}roles must alternate$"):
        Template(ALTERNATING, "", "").render(script(("user", "a"), ("user", "b")))


def test_dates_json_and_loop_controls_are_there() -> None:
    source = (
        "{{ strftime_now('%Y') }}{{ messages | tojson }}"
        "{% for i in range(9) %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}"
        "{% generation %}!{% endgeneration %}"
    )
    template = Template(source, "", "", now=lambda: datetime(2026, 5, 1))  # noqa: DTZ001
    expected = '2026[{"role": "user", "content": "ü"}]0!'
    assert template.render(script(("user", "ü"))).text == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{% include 'x' %}",
        "{{ 1 / 0 }}",
        "{{ messages[7].content.x }}",
        "{{ range(10 ** 9) | list }}",
        "{{ 'a' * -1.5 }}",
        "{% for x in messages recursive %}{{ loop(messages) }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ strftime_now(1, 2) }}",
    ],
)
def test_what_a_template_may_not_do_is_an_error_of_the_template(source: str) -> None:
    template = Template(source, "", "")
    with pytest.raises(TemplateFailed, match=f"^{UNRENDERABLE}[^:]"):
        template.render(script(("user", "a")))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{{ messages[0].content }}", "the prompt is empty"),
        ("{% for i in range(99999) %}{{ 'x' * 100 }}{% endfor %}", "the prompt becomes too long"),
    ],
)
def test_a_prompt_without_a_fitting_size_is_an_error_of_the_template(source: str, why: str) -> None:
    template = Template(source, "", "")
    with pytest.raises(TemplateFailed, match=f"^{UNRENDERABLE}{why}$"):
        template.render(script(("user", "")))


NESTED = "{% for a in b %}" * 40 + "{% endfor %}" * 40
DEEP = "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"


@pytest.mark.parametrize(
    "source", ["{% for %}", "{{", "{% nonsense %}", "x" * 300_000, NESTED, DEEP]
)
def test_what_is_no_template_is_an_error(source: str) -> None:
    with pytest.raises(TemplateBroken) as caught:
        Template(source, "", "")
    assert 0 < len(str(caught.value)) <= 200


# --- in its own process


@pytest.fixture
def renderer(request: pytest.FixtureRequest) -> Iterator[Renderer]:
    made = Renderer(request.param, time_limit_s=1.0)
    made.compile("<s>", "</s>")
    yield made
    made.close()


@pytest.mark.parametrize("renderer", [NO_SYSTEM], indirect=True)
def test_the_process_renders_like_the_template(renderer: Renderer) -> None:
    for _ in range(2):
        assert renderer.render(TALK) == Template(NO_SYSTEM, "<s>", "</s>").render(TALK)


@pytest.mark.parametrize("renderer", [ALTERNATING], indirect=True)
def test_an_error_of_the_template_leaves_the_process_usable(renderer: Renderer) -> None:
    with pytest.raises(TemplateFailed, match=f"^{REFUSED}roles must alternate$"):
        renderer.render(script(("user", "a"), ("user", "b")))
    assert renderer.render(script(("user", "a"))).text == "<user>a<assistant>"


def child_of(renderer: Renderer) -> psutil.Process:
    assert renderer._child is not None
    return psutil.Process(renderer._child.pid)


@pytest.mark.parametrize("renderer", [NO_SYSTEM], indirect=True)
def test_a_killed_process_costs_nobody_a_prompt(renderer: Renderer) -> None:
    expected = renderer.render(TALK)
    for _ in range(2):
        child_of(renderer).send_signal(signal.SIGKILL)
        assert renderer.render(TALK) == expected


@pytest.mark.parametrize("renderer", [NO_SYSTEM], indirect=True)
def test_a_process_that_ends_again_is_an_error_of_the_template(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = renderer._start, 0

    def doomed() -> subprocess.Popen[bytes]:
        nonlocal started
        started += 1
        child = start()
        child.kill()
        return child

    child_of(renderer).send_signal(signal.SIGKILL)
    monkeypatch.setattr(renderer, "_start", doomed)
    with pytest.raises(TemplateFailed, match=f"^{UNRENDERABLE}it needs too much time or memory$"):
        renderer.render(TALK)
    assert started == 1
    monkeypatch.undo()
    assert renderer.render(TALK).text


GUARD = "{% if messages[0].content == 'go' %}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "renderer",
    [
        GUARD + "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
        "{% endif %}{{ messages[0].content }}",
        GUARD + "{% set n = namespace(x='aaaaaaaa') %}{% for a in range(99) %}"
        "{% set n.x = n.x ~ n.x %}{% endfor %}{% endif %}{{ messages[0].content }}",
        GUARD
        + "{{ 7 ** (7 ** (6 + messages | length) ** 2) }}{% endif %}{{ messages[0].content }}",
        GUARD + "{{ 'a'.ljust(9 ** 12) }}{% endif %}{{ messages[0].content }}",
    ],
    ids=["loop", "memory", "number", "string"],
    indirect=True,
)
def test_a_template_that_would_not_end_is_ended_and_the_next_prompt_works(
    renderer: Renderer,
) -> None:
    with pytest.raises(TemplateFailed, match=f"^{UNRENDERABLE}.*too much"):
        renderer.render(script(("user", "go")))
    assert renderer.render(script(("user", "no"))).text == "no"


@pytest.mark.slow
def test_a_template_that_would_compile_for_ever_is_given_up() -> None:
    renderer = Renderer("{{ 7 ** (7 ** (7 ** 7)) }}", time_limit_s=1.0)
    with pytest.raises(TemplateBroken, match=r"^it needs too much time or memory$"):
        renderer.compile("", "")
    assert renderer._child is None


def test_a_template_that_does_not_compile_says_why() -> None:
    renderer = Renderer("{% nonsense %}")
    with pytest.raises(TemplateBroken, match="unknown tag 'nonsense'"):
        renderer.compile("", "")
    assert renderer._child is None
