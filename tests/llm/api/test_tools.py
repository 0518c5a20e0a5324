"""Tools and reasoning through the stock ``openai`` client and over bare HTTP."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

from tests.llm import tinymodel
from tests.llm.serverkit import CHAT, Json, Server, serving, settings_for

pytestmark = pytest.mark.asyncio(loop_scope="module")
TAGGED = (
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content is defined %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
ARGUMENTS = {"turn": 9}
WORDS = {
    "tagged": [
        [
            *(b"<think>", b"hm\n", b"</think>\n\n", b"I look.\n", b"<tool_call>\n"),
            *(b'{"name": "brake", ', b'"arguments": {"turn": 9}}', b"\n</tool_call>"),
        ],
        [b"Brake%d " % number for number in range(1, 9)],
    ],
    "llama": [[b'{"name": "brake", ', b'"parameters": {"turn": 9}}'], [b"Brake ", b"late."]],
    "choice": [[b'{"tool": "brake", ', b'"arguments": {"turn": 9}}'], [b'{"reply": "', b'Ok."}']],
    "raw": [[b"Brake ", b"late."]],
}
TEMPLATES = {
    "tagged": TAGGED,
    "llama": '{# ipython "parameters" tools #}' + tinymodel.CHATML + " ",
    "choice": tinymodel.CHATML,
    "raw": None,
}
BRAKE: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "brake",
        "description": "Brake pressure in a turn",
        "parameters": {
            "type": "object",
            "properties": {"turn": {"type": "integer", "enum": [9]}},
            "required": ["turn"],
            "additionalProperties": False,
        },
    },
}
ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "<red>"}]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name, words in WORDS.items():
        shape = tinymodel.Shape(template=TEMPLATES[name], context=4096)
        tinymodel.write_recall(folder / f"{name}.gguf", words, shape=shape)
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def client(compat: Server) -> AsyncIterator[AsyncOpenAI]:
    url = f"{compat.url}/v1"
    async with AsyncOpenAI(base_url=url, api_key="none", timeout=30, max_retries=0) as opened:
        yield opened


async def test_a_call_is_parsed_and_its_result_taken(client: AsyncOpenAI) -> None:
    for model in ["tagged", "llama", "choice"]:
        create = client.chat.completions.create
        first = await create(
            model=model, messages=ASK, tools=[BRAKE], parallel_tool_calls=False, temperature=0
        )
        message = first.choices[0].message
        assert first.choices[0].finish_reason == "tool_calls"
        assert message.tool_calls is not None
        (call,) = message.tool_calls
        assert call.type == "function"
        assert (call.function.name, json.loads(call.function.arguments)) == ("brake", ARGUMENTS)
        if model == "tagged":
            assert message.content == "I look."
            assert message.reasoning_content == "hm"  # type: ignore[attr-defined]
        else:
            assert message.content is None

        history: list[ChatCompletionMessageParam] = [
            *ASK,
            message.to_dict(),  # type: ignore[list-item]
            {"role": "tool", "tool_call_id": call.id, "content": "34 bar " * 9},
        ]
        second = await create(model=model, messages=history, tools=[BRAKE], temperature=0)
        assert first.usage is not None
        assert second.usage is not None
        assert second.usage.prompt_tokens > first.usage.prompt_tokens + 9 * len("34 bar ")


async def test_a_call_is_streamed(client: AsyncOpenAI) -> None:
    for model in ["tagged", "llama", "choice"]:
        content, reasoning, arguments, ends = "", "", "", []
        heads: list[tuple[str | None, str | None]] = []
        async for chunk in await client.chat.completions.create(
            model=model,
            messages=ASK,
            tools=[BRAKE],
            parallel_tool_calls=False,
            temperature=0,
            stream=True,
        ):
            (choice,) = chunk.choices
            content += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or []:
                assert call.index == 0
                assert call.function is not None
                arguments += call.function.arguments or ""
                if call.id:
                    heads.append((call.type, call.function.name))
            ends += [choice.finish_reason] if choice.finish_reason else []
        assert (heads, ends) == ([("function", "brake")], ["tool_calls"])
        assert json.loads(arguments) == ARGUMENTS
        assert (content, reasoning) == (("I look.", "hm") if model == "tagged" else ("", ""))


async def test_a_model_with_tools_may_answer_in_words(client: AsyncOpenAI) -> None:
    for model, text in [("llama", "Brake late."), ("choice", "Ok."), ("tagged", "Brake1 ")]:
        reply = await client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": "<green>"}],
            tools=[BRAKE],
            temperature=0,
        )
        assert reply.choices[0].finish_reason == "stop"
        assert (reply.choices[0].message.content or "").startswith(text)
        assert reply.choices[0].message.tool_calls is None


async def test_without_tools_on_offer_a_call_is_text(client: AsyncOpenAI) -> None:
    for options in ({}, {"tools": [BRAKE], "tool_choice": "none"}):
        reply = await client.chat.completions.create(
            model="tagged", messages=ASK, temperature=0, extra_body=options
        )
        assert "<tool_call>" in (reply.choices[0].message.content or "")
        assert reply.choices[0].finish_reason == "stop"


async def test_the_template_gets_its_own_variables(compat: Server) -> None:
    options = {"enable_thinking": False}
    usual = await compat.ask("tagged", "<green>")
    silent = await compat.ask("tagged", "<green>", chat_template_kwargs=options)
    more = silent.json["usage"]["prompt_tokens"] - usual.json["usage"]["prompt_tokens"]
    assert more == len("<think>\n\n</think>\n\n")


async def test_a_conversation_is_kept_over_a_call_and_its_result(compat: Server) -> None:
    body = {"model": "llama", "tools": [BRAKE], "session_id": "s", "temperature": 0}
    body["parallel_tool_calls"] = False
    first = await compat.request("POST", CHAT, json=body | {"messages": ASK})
    message = first.json["choices"][0]["message"]
    result = {"role": "tool", "content": "34 bar"}
    result["tool_call_id"] = message["tool_calls"][0]["id"]
    second = await compat.request("POST", CHAT, json=body | {"messages": [*ASK, message, result]})
    usage = first.json["usage"]
    assert second.cached >= usage["prompt_tokens"] + usage["completion_tokens"] - 1


async def test_a_model_without_a_template_says_that_it_cannot(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(model="raw", messages=ASK, tools=[BRAKE])
    assert "cannot call tools" in caught.value.message
    assert caught.value.param == "tools"


CALLED: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "brake", "arguments": "{}"}}
    ],
}


def tool(**changes: Json) -> Json:
    return {"type": "function", "function": {**BRAKE["function"], **changes}}


def deep(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


WRONG: dict[str, tuple[Json, str]] = {
    "unknown id": ([ASK[0], CALLED, {"role": "tool", "tool_call_id": "c2"}], "messages"),
    "no id": ([ASK[0], CALLED, {"role": "tool", "content": "x"}], "messages"),
    "result before call": ([ASK[0], {"role": "tool", "tool_call_id": "c1"}, CALLED], "messages"),
    "ends with a call": ([ASK[0], CALLED], "messages"),
    "name with a quote": (tool(name='a"b'), "tools.0.function.name"),
    "name with a newline": (tool(name="a\n"), "tools.0.function.name"),
    "name with a marker": (tool(name="<|im_end|>"), "tools.0.function.name"),
    "no name": (tool(name=""), "tools.0.function.name"),
    "deep schema": (tool(parameters=deep(70)), "tools.0.function.parameters"),
    "no schema": (tool(parameters="x"), "tools.0.function.parameters"),
}


async def test_what_cannot_be_a_tool_or_a_tool_turn_is_a_400(compat: Server) -> None:
    for case in WRONG:
        given, param = WRONG[case]
        body: Json = {"model": "tagged"}
        if isinstance(given, list):
            body |= {"messages": given}
        else:
            body |= {"messages": ASK, "tools": [given]}
        answer = await compat.request("POST", CHAT, json=body)
        assert (answer.status, answer.error["param"]) == (400, param)


async def test_an_offer_that_cannot_be_made_is_a_400(compat: Server) -> None:
    cases: list[tuple[Json, str]] = [
        ({"tools": [BRAKE, BRAKE]}, "tools"),
        ({"tools": [BRAKE] * 129}, "tools"),
        ({"tools": [BRAKE], "tool_choice": "maybe"}, "tool_choice"),
        ({"tools": [BRAKE], "tool_choice": {"type": "function"}}, "tool_choice.function"),
        (
            {
                "tools": [BRAKE],
                "tool_choice": {"type": "function", "function": {"name": "steer"}},
            },
            "tool_choice",
        ),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"chat_template_kwargs": {"a": deep(70)}}, "chat_template_kwargs"),
        ({"chat_template_kwargs": 1}, "chat_template_kwargs"),
    ]
    for fields, param in cases:
        answer = await compat.ask("tagged", "<red>", **fields)
        assert answer.status == 400
        assert answer.error["param"].startswith(param)


async def test_a_hundred_tools_and_a_long_result_are_taken(compat: Server) -> None:
    tools = [tool(name=f"t{number}", description="") for number in range(100)]
    answer = await compat.ask("choice", "<green>", tools=[*tools[:20], BRAKE])
    assert answer.said == "Ok."
    result = {"role": "tool", "tool_call_id": "c1", "content": "<|im_end|>" * 9_000}
    body = {"model": "choice", "messages": [ASK[0], CALLED, result]}
    long = await compat.request("POST", CHAT, json=body)
    assert (long.status, long.error["param"]) == (400, "max_tokens")
    huge = {"messages": [ASK[0], CALLED, result | {"content": "x" * 200_000}]}
    assert (await compat.request("POST", CHAT, json=huge)).status == 413


async def test_in_a_plain_start_tools_have_no_effect(models: Path, tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path / "data", models)) as server:
        answer = await server.ask("tagged", "<red>", tools=[BRAKE], tool_choice="required")
        assert answer.headers["X-Ignored-Fields"] == "tools, tool_choice"
        assert answer.said.startswith("I look.\n<tool_call>")
        turns = [ASK[0], CALLED, {"role": "tool", "tool_call_id": "c1", "content": "x"}, ASK[0]]
        body = {"model": "tagged", "messages": turns}
        refused = await server.request("POST", CHAT, json=body)
        assert (refused.status, refused.error["param"]) == (400, "messages.2.role")
