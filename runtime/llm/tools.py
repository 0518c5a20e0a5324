"""Tools for every chat model: offering them, and restricting replies to valid calls.

If a model's chat template supports tools, they are passed to the template. Otherwise a system text
describes them, and a grammar restricts the reply to either an answer or a call.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from runtime.llm.grammar import BadGrammar, check_schema, close_object, limit_digits
from runtime.llm.inference import ChatCall, ReplyFormat, Sampling, Tool, Turn
from runtime.llm.replies import ENDS, TRIGGERS
from runtime.web.errors import BadRequest

_THOUGHT: Final = r"/([^<]|<[^\/])*<\/think>\s*/"
_NEW_THOUGHT: Final = r"/<think>([^<]|<[^\/])*<\/think>\s*/"
_SPACE: Final = r"/\s{0,2}/"
_PROSE: Final = r"/\s*[^\s\[{<](?s:.)*/"
MAX_CALLS: Final = 16
"""Maximum calls of a reply: a small model might never stop."""
_SPACING: Final = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,  # unenforceable keywords are left to the model, as in the OpenAI API
}
_OFFER: Final = """\
You can call tools. Write one JSON object and nothing else:
{{"tool": "<name>", "arguments": {{...}}}} calls a tool; its result comes with the next message.
{{"reply": "<text>"}} answers the user.
The tools, with the JSON Schema of their arguments:
{tools}"""
_DEMAND: Final = """\
You must call a tool. Write one JSON object and nothing else:
{{"tool": "<name>", "arguments": {{...}}}}
The tools, with the JSON Schema of their arguments:
{tools}"""


def fit_tools(call: ChatCall, form: ReplyFormat | None) -> tuple[ChatCall, ReplyFormat]:
    """Adapt a call to the model's template; return it with the format of its reply.

    *form* is the format of the template; None: the model has no template. Raises `BadRequest` if
    the model cannot call tools.
    """
    if form is None:
        if call.uses_tools:
            text = "this model cannot call tools: it has no chat template"
            raise BadRequest(text, param="tools" if call.tools else "messages")
        return call, ReplyFormat()
    if not call.tools:
        if call.uses_tools and form.calls == "none":
            call = replace(call, turns=tuple(_flatten_calls(call.turns)))
        return call, form._replace(calls="none")
    if call.sampling.grammar:
        text = "tools cannot be combined with response_format or grammar"
        raise BadRequest(text, param="response_format")
    form = form._replace(names=tuple(tool.name for tool in call.tools))
    if form.calls == "none":
        form = form._replace(calls="choice")
        offer = (_DEMAND if call.tools_required else _OFFER).format(
            tools="\n".join(_describe(tool) for tool in call.tools)
        )
        turns = _add_instruction(list(_flatten_calls(call.turns, choice=True)), offer)
        call = replace(call, turns=tuple(turns))
    return replace(call, sampling=constrain(call, form)), form


def constrain(call: ChatCall, form: ReplyFormat) -> Sampling:
    """Add a grammar to the call's sampling that restricts replies to the offered tools.

    If calls are optional, the grammar applies after the mark of a call.
    """
    if form.calls == "none":
        return call.sampling
    marked = form.calls in ("tagged", "list")
    free = not call.tools_required
    trigger = TRIGGERS[form.calls] if free and (marked or form.calls == "mistral") else ""
    mark, end = _quote(TRIGGERS.get(form.calls, "")), _quote(ENDS.get(form.calls, ""))

    def more(words: str) -> str:
        return f"({words}){{0,{MAX_CALLS - 1}}}" if call.parallel_tools else ""

    match form.calls:
        case "tagged":
            body = f"space call space {end} " + more(f"space {mark} space call space {end}")
        case "list" | "mistral":
            listed = more('", " call')
            body = f'space "[" call {listed} "]" {end and "space"} {end}'
        case "llama":
            body = f"call {more(f'{end} space call')}" + " | prose" * free
        case _:
            body = "call"
    if marked and not trigger:
        body = f"{mark} {body}"
    rules = {
        "start": "body",
        "body": body,
        "call": f"%json {json.dumps(_build_schema(call, form), ensure_ascii=False)}",
        "space": _SPACE,
    }
    if not trigger and (form.thinks or form.opened):
        rules["start"] = "thought body" if form.opened else "(thought body) | body"
        rules["thought"] = _THOUGHT if form.opened else _NEW_THOUGHT
    if "prose" in body:
        rules["prose"] = _PROSE
    grammar = "\n".join(f"{name}: {rule}" for name, rule in rules.items())
    return replace(call.sampling, grammar=grammar, grammar_trigger=trigger)


def _quote(text: str) -> str:
    return json.dumps(text) if text else ""


def _build_schema(call: ChatCall, form: ReplyFormat) -> dict[str, object]:
    """The schema of a call of any tool, or of a reply if the choice is written as JSON."""
    is_choice = form.calls == "choice"
    name = "tool" if is_choice else "name"
    arguments = "parameters" if form.calls == "llama" else "arguments"
    choices = [
        _build_object({name: {"const": tool.name}, arguments: {"$ref": f"#/$defs/{at}"}})
        for at, tool in enumerate(call.tools)
    ]
    if is_choice and not call.tools_required:
        choices.append(_build_object({"reply": {"type": "string"}}))
    schema = {
        "anyOf": choices,
        "$defs": {
            str(at): _move_schema(tool, f"#/$defs/{at}") for at, tool in enumerate(call.tools)
        },
    }
    try:
        check_schema(schema)
    except BadGrammar as error:
        raise BadRequest(f"the tools cannot be offered: {error}", param="tools") from error
    return {"x-guidance": _SPACING, **limit_digits(schema)}


def _build_object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _move_schema(tool: Tool, place: str) -> object:
    """The schema of the tool's arguments, with its references relative to *place*."""

    def move(value: object) -> object:
        if isinstance(value, list):
            return [move(item) for item in value]
        if not isinstance(value, dict):
            return value
        moved = {key: move(item) for key, item in value.items()}
        target = moved.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            moved["$ref"] = place + target[1:]
        return moved

    schema = close_object(json.loads(tool.parameters))
    moved = {key: move(schema[key]) for key in schema if key != "$schema"}
    return {**moved, "type": "object"}


# --- for templates without tools


def _describe(tool: Tool) -> str:
    function = {"name": tool.name, "description": tool.description}
    return json.dumps(function, ensure_ascii=False)[:-1] + f', "parameters": {tool.parameters}}}'


def _add_instruction(turns: Sequence[Turn], text: str) -> list[Turn]:
    """Append *text* to the first system text."""
    first = turns[0]
    if first.role == "system":
        return [first._replace(content=f"{first.content}\n\n{text}"), *turns[1:]]
    return [Turn("system", text), *turns]


def _flatten_calls(turns: Sequence[Turn], *, choice: bool = False) -> Iterator[Turn]:
    """Convert calls and results to text; with *choice*, also write replies like new ones.

    The results of calls become one user turn, together with the user's next text.
    """
    names: dict[str, str] = {}
    results: list[str] = []
    for turn in turns:
        if turn.role == "tool":
            name = names.get(turn.tool_call_id, "the tool")
            results.append(f"Result of {name}:\n{turn.content}")
            continue
        if results and turn.role == "user":
            turn = Turn("user", "\n\n".join([*results, turn.content]))
        elif results:
            yield Turn("user", "\n\n".join(results))
        results = []
        if turn.role != "assistant":
            yield turn
            continue
        names |= {call.id: call.name for call in turn.tool_calls}
        reply = json.dumps({"reply": turn.content}, ensure_ascii=False) if choice else turn.content
        calls = [
            f'{{"tool": {json.dumps(call.name)}, "arguments": {call.arguments or "{}"}}}'
            for call in turn.tool_calls
        ]
        texts = [reply, *calls] if turn.content or not calls else calls
        yield turn._replace(content="\n".join(texts), tool_calls=())
    if results:
        yield Turn("user", "\n\n".join(results))
