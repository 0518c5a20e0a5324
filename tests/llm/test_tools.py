"""Tools are offered so that every chat model can call them, and its calls fit their schemas."""

import json
from dataclasses import replace

import pytest
from llguidance import LLMatcher, LLTokenizer

from runtime.llm.inference import (
    Calls,
    ChatCall,
    Content,
    ReplyFormat,
    Sampling,
    Tool,
    ToolArguments,
    ToolCall,
    ToolStart,
    Turn,
)
from runtime.llm.replies import TRIGGERS, ReplyParser
from runtime.llm.tools import constrain, fit_tools
from runtime.web.errors import BadRequest

BRAKE = Tool(
    "brake",
    "Brake pressure",
    json.dumps(
        {
            "type": "object",
            "properties": {"turn": {"type": "integer"}, "car": {"$ref": "#/$defs/Car"}},
            "required": ["turn"],
            "additionalProperties": False,
            "$defs": {"Car": {"enum": ["gt3", "gt4"]}},
        }
    ),
)
EMPTY = Tool("laps", "", "{}")
SAMPLING = Sampling(0.0, 1, 1.0, 0)
CALL = ChatCall((Turn("user", "Turn 9?"),), SAMPLING, tools=(BRAKE, EMPTY))
GOOD = {"turn": 9, "car": "gt3"}
TOKENS = LLTokenizer("byte")


def written(form: Calls, *calls: tuple[str, object]) -> str:
    """The calls as a model of that format writes them."""
    key = "parameters" if form == "llama" else "arguments"
    objects = [json.dumps({"name": name, key: value}) for name, value in calls]
    match form:
        case "tagged":
            return "\n".join(f"<tool_call>\n{each}\n</tool_call>" for each in objects)
        case "list":
            return f"<tool_call>[{', '.join(objects)}]</tool_call>"
        case "llama":
            return "; ".join(objects)
        case "mistral":
            return f"[TOOL_CALLS][{', '.join(objects)}]"
        case _:
            return json.dumps({"tool": calls[0][0], "arguments": calls[0][1]})


def fits(call: ChatCall, form: ReplyFormat, text: str) -> bool:
    """Whether the model may write this text and end."""
    sampling = constrain(call, form)
    if sampling.grammar_trigger:
        _, mark, text = text.partition(sampling.grammar_trigger)
        if not mark:
            return True
    grammar = LLMatcher.grammar_from_lark(sampling.grammar)
    assert LLMatcher.validate_grammar(grammar) == ""
    matcher = LLMatcher(TOKENS, grammar, log_level=0)
    for letter in text.encode():
        if not matcher.consume_token(letter):
            return False
    return bool(matcher.is_accepting())


FORMS: list[Calls] = ["tagged", "list", "llama", "mistral", "choice"]


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("calls", FORMS)
def test_a_call_must_fit_the_schema_of_its_tool(calls: Calls, required: bool) -> None:
    form = ReplyFormat(calls, names=("brake", "laps"))
    call = replace(CALL, tools_required=required)
    strip = "[TOOL_CALLS]" if required and calls == "mistral" else ""
    for pair, good in (
        (("brake", GOOD), True),
        (("laps", {}), True),
        (("laps", {"any": [1]}), True),
        (("brake", {"turn": "nine"}), False),
        (("brake", {"car": "gt3"}), False),
        (("brake", {"turn": 9, "car": "f1"}), False),
        (("brake", {"turn": 9, "other": 1}), False),
        (("nobody", {}), False),
    ):
        assert fits(call, form, written(calls, pair).removeprefix(strip)) is good, pair


@pytest.mark.parametrize(
    ("schema", "arguments", "good"),
    [
        ({"properties": {"a": {"type": "string"}}}, {"a": "x"}, True),
        ({"properties": {"a": {"type": "string"}}}, {"b": "x"}, False),
        ({"properties": {"a": {}}, "additionalProperties": True}, {"b": "x"}, True),
        ({"type": "string"}, {"b": "x"}, True),
        ({"$schema": "x", "format": "odd", "properties": {}}, {}, True),
    ],
)
def test_arguments_are_an_object_of_what_is_declared(
    schema: object, arguments: object, good: bool
) -> None:
    call = replace(CALL, tools=(Tool("f", "", json.dumps(schema)),))
    assert fits(call, ReplyFormat("choice"), written("choice", ("f", arguments))) is good


@pytest.mark.parametrize("depth", [40, 60])
def test_a_schema_that_is_too_deep_is_refused(depth: int) -> None:
    schema = '{"items": ' * depth + "{}" + "}" * depth
    call = replace(CALL, tools=(Tool("f", "", schema),))
    if depth == 40:
        assert fit_tools(call, ReplyFormat())[0].sampling.grammar
    else:
        with pytest.raises(BadRequest, match="cannot be offered"):
            fit_tools(call, ReplyFormat())


@pytest.mark.parametrize("calls", FORMS)
def test_prose_is_free_unless_a_call_is_demanded(calls: Calls) -> None:
    form = ReplyFormat(calls, names=("brake",))
    prose = json.dumps({"reply": "Brake [late] {x}."}) if calls == "choice" else "Brake [late] {x}."
    assert fits(CALL, form, prose)
    assert not fits(replace(CALL, tools_required=True), form, prose)


@pytest.mark.parametrize("calls", FORMS[:4])
def test_several_calls_need_leave(calls: Calls) -> None:
    form = ReplyFormat(calls, names=("brake", "laps"))
    both = written(calls, ("brake", GOOD), ("laps", {}))
    assert fits(CALL, form, both)
    assert not fits(replace(CALL, parallel_tools=False), form, both)


@pytest.mark.parametrize("calls", ["tagged", "choice", "llama"])
def test_a_demanded_call_may_follow_a_thought(calls: Calls) -> None:
    call = replace(CALL, tools_required=True)
    text = written(calls, ("laps", {}))
    new, opened = ReplyFormat(calls, thinks=True), ReplyFormat(calls, thinks=True, opened=True)
    assert fits(call, new, f"<think>a < b</think>\n\n{text}")
    assert fits(call, new, text)
    assert not fits(call, new, f"prose</think>{text}")
    assert fits(call, opened, f"so</think>\n\n{text}")
    assert not fits(call, opened, text)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("calls", FORMS)
def test_what_the_grammar_allows_is_read_as_a_call(calls: Calls, required: bool) -> None:
    text = written(calls, ("brake", GOOD))
    if required and calls == "mistral":
        text = text.removeprefix(TRIGGERS["mistral"])
    parser = ReplyParser(ReplyFormat(calls, names=("brake", "laps")))
    start, arguments = parser.feed(text) + parser.end()
    assert isinstance(start, ToolStart)
    assert isinstance(arguments, ToolArguments)
    assert (start.name, json.loads(arguments.text)) == ("brake", GOOD)


TALK = (
    Turn("user", "Turn 9?"),
    Turn("assistant", "", (ToolCall("c1", "brake", '{"turn": 9}'), ToolCall("c2", "laps", ""))),
    Turn("tool", "34 bar", tool_call_id="c1"),
    Turn("tool", "7", tool_call_id="c2"),
)


def test_a_template_without_tools_gets_them_as_text() -> None:
    call, form = fit_tools(replace(CALL, turns=TALK), ReplyFormat(thinks=True))
    system, user, assistant, result = call.turns
    assert (form.calls, form.names) == ("choice", ("brake", "laps"))
    assert system.role == "system"
    assert '"name": "brake"' in system.content
    assert user == TALK[0]
    assert assistant.content.splitlines() == [
        '{"tool": "brake", "arguments": {"turn": 9}}',
        '{"tool": "laps", "arguments": {}}',
    ]
    assert result == Turn("user", "Result of brake:\n34 bar\n\nResult of laps:\n7")


def test_replies_in_the_history_look_as_new_ones_must_look() -> None:
    turns = [Turn("system", "Coach."), Turn("user", "Hi"), Turn("assistant", "ü"), *TALK, TALK[0]]
    call, form = fit_tools(replace(CALL, turns=turns), ReplyFormat())
    parser = ReplyParser(form)
    assert call.turns[0].content.startswith("Coach.\n\n")
    assert parser.feed(call.turns[2].content) == [Content("ü")]
    assert call.turns[-1].content.endswith("Result of laps:\n7\n\nTurn 9?")


def test_calls_of_the_past_are_told_where_none_is_on_offer() -> None:
    call, form = fit_tools(replace(CALL, turns=TALK, tools=()), ReplyFormat())
    assert form == ReplyFormat()
    assert call.sampling == SAMPLING
    assert [turn.role for turn in call.turns] == ["user", "assistant", "user"]


def test_a_template_with_tools_gets_the_turns_as_they_are() -> None:
    call, form = fit_tools(replace(CALL, turns=TALK), ReplyFormat("tagged"))
    assert call.turns == TALK
    assert form.names == ("brake", "laps")
    assert fit_tools(replace(CALL, tools=()), ReplyFormat("tagged"))[1].calls == "none"


@pytest.mark.parametrize("call", [CALL, replace(CALL, turns=TALK, tools=())])
def test_a_model_without_a_template_cannot_call(call: ChatCall) -> None:
    with pytest.raises(BadRequest, match="cannot call tools"):
        fit_tools(call, None)


def test_tools_and_another_grammar_do_not_go_together() -> None:
    with pytest.raises(BadRequest, match="cannot be combined"):
        fit_tools(replace(CALL, sampling=replace(SAMPLING, grammar="start: x")), ReplyFormat())
