"""What a model writes is parted into content, reasoning and calls, wherever the text is cut."""

import json
from collections.abc import Sequence
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.inference import (
    Content,
    Event,
    Reasoning,
    ReplyFormat,
    ToolArguments,
    ToolStart,
)
from runtime.llm.replies import ReplyParser, detect_format

PLAIN = ReplyFormat()
THINKING = ReplyFormat(thinks=True)
OPENED = ReplyFormat(thinks=True, opened=True)
TAGGED = ReplyFormat("tagged", thinks=True, names=("f", "g"))
LLAMA = ReplyFormat("llama", names=("f", "g"))
MISTRAL = ReplyFormat("mistral", names=("f", "g"))
CHOICE = ReplyFormat("choice", names=("f", "g"))
Seen = list[tuple[str, ...]]


def parse(form: ReplyFormat, pieces: Sequence[str]) -> Seen:
    """The events of a reply, with neighbours of a kind joined."""
    numbers = count()
    parser = ReplyParser(form, lambda: f"id{next(numbers)}")
    events: list[Event] = [event for piece in pieces for event in parser.feed(piece)]
    seen: Seen = []
    for event in [*events, *parser.end()]:
        match event:
            case Content(text) | Reasoning(text):
                assert text
                kind = type(event).__name__
                if seen and seen[-1][0] == kind:
                    seen[-1] = (kind, seen[-1][1] + text)
                else:
                    seen.append((kind, text))
            case ToolStart(number, name_id, name):
                assert name_id == f"id{number}"
                seen.append(("Call", name, ""))
            case ToolArguments(_, text):
                seen[-1] = (*seen[-1][:2], seen[-1][2] + text)
    return seen


F = ("Call", "f", '{"a": 1}')
G = ("Call", "g", "{}")
CALL = '{"name": "f", "arguments": {"a": 1}}'
CALL_G = '<tool_call>{"name": "g"}</tool_call>'


def _content(text: str) -> list[tuple[ReplyFormat, str, Seen]]:
    return [(form, text, [("Content", text)]) for form in (TAGGED, MISTRAL)]


CASES: list[tuple[ReplyFormat, str, Seen]] = [
    (PLAIN, " Hi\n <think>x</think> ", [("Content", " Hi\n <think>x</think> ")]),
    (PLAIN, f"<tool_call>{CALL}</tool_call>", [("Content", f"<tool_call>{CALL}</tool_call>")]),
    (THINKING, " Hi \n", [("Content", " Hi \n")]),
    (THINKING, "<think>\na b\n\n</think>\n\nOk \n", [("Reasoning", "a b"), ("Content", "Ok \n")]),
    (THINKING, "\n<think>\n\n</think>\n\nOk", [("Content", "Ok")]),
    (THINKING, "Ok <think>x</think>", [("Content", "Ok <think>x</think>")]),
    (THINKING, "<thin", [("Content", "<thin")]),
    (THINKING, "<think>half</thi", [("Reasoning", "half</thi")]),
    (OPENED, "a\n</think>\nOk", [("Reasoning", "a"), ("Content", "Ok")]),
    (OPENED, "<think>a</think>Ok", [("Reasoning", "a"), ("Content", "Ok")]),
    (OPENED, "never ends", [("Reasoning", "never ends")]),
    (TAGGED, f"<tool_call>\n{CALL}\n</tool_call>", [F]),
    (
        TAGGED,
        f"<think>t</think>\nI look.\n<tool_call>\n{CALL}\n</tool_call>\n{CALL_G}\nDone.",
        [("Reasoning", "t"), ("Content", "I look."), F, G, ("Content", "Done.")],
    ),
    (TAGGED, f'<tool_call>[{CALL}, {{"name": "g", "arguments": {{}}}}]</tool_call>', [F, G]),
    (TAGGED, f"<tool_call>{CALL}", [F]),
    (
        TAGGED,
        '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>\\" ü \\u00fc }"}}</tool_call>',
        [("Call", "f", '{"a": "</tool_call>\\" ü ü }"}')],
    ),
    *(
        case
        for text in (
            *("<tool_call>{bad}</tool_call>", "<tool_call>", "<tool_call> x", "a <tool_"),
            '<tool_call>{"name": "f", "arguments": {"a": 1',
            '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
            '<tool_call>{"name": "f", "arguments": [1]}</tool_call>',
            '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>',
            '<tool_call>{"name": ["f"], "arguments": {}}</tool_call>',
            "<tool_call>[]</tool_call>",
            f"<tool_call>{'[' * 5000}{']' * 5000}</tool_call>",
            f'<tool_call>{{"name": "f", "arguments": {{"a": {"9" * 5000}}}}}</tool_call>',
        )
        for case in _content(text)
    ),
    (
        TAGGED,
        f"<tool_call>oh\n<tool_call>{CALL}</tool_call>",
        [("Content", "<tool_call>oh"), F],
    ),
    (
        TAGGED,
        '<tool_call>{"name": "f", "arguments": {"a": "\\ud800"}}',
        [("Call", "f", '{"a": "\\ud800"}')],
    ),
    (LLAMA, '{"name": "f", "parameters": {"a": 1}}', [F]),
    (LLAMA, '\n\n{"type": "function", "name": "f", "parameters": {"a": 1}}\n', [F]),
    (LLAMA, '<|python_tag|>{"name": "f", "parameters": {"a": 1}}; {"name": "g"}', [F, G]),
    (LLAMA, '{"brake": 34} is {"name": "f"}', [("Content", '{"brake": 34} is {"name": "f"}')]),
    (LLAMA, '<|python_tag|>f.call(a="1")', [("Content", '<|python_tag|>f.call(a="1")')]),
    (LLAMA, ' {"name": "Bob"} ', [("Content", ' {"name": "Bob"} ')]),
    (MISTRAL, f'[TOOL_CALLS] [{CALL}, {{"name": "g", "arguments": {{}}}}]', [F, G]),
    (MISTRAL, f"Ok.\n[TOOL_CALLS][{CALL}]", [("Content", "Ok."), F]),
    (MISTRAL, "[TOOL_CALLS] no", [("Content", "[TOOL_CALLS] no")]),
    (CHOICE, '{"reply": "a\\n\\"b\\" \\u00fc \\ud83c\\udfc1 ü"}\n', [("Content", 'a\n"b" ü 🏁 ü')]),
    (CHOICE, ' { "reply" : "" } ', []),
    (CHOICE, '{"reply": "cut sho', [("Content", "cut sho")]),
    (CHOICE, '{"reply": "a\\ud83c b\\u12', [("Content", "a\ufffd b\\u12")]),
    (CHOICE, '{"reply": "a", "x": 1}', [("Content", 'a", "x": 1}')]),
    (CHOICE, '{"tool": "f", "arguments": {"a": 1}}\n', [F]),
    (CHOICE, '{"tool": "h", "arguments": {}}', [("Content", '{"tool": "h", "arguments": {}}')]),
    (CHOICE, " prose", [("Content", " prose")]),
]


@pytest.mark.parametrize(("form", "text", "expected"), CASES)
def test_a_reply_is_parted(form: ReplyFormat, text: str, expected: Seen) -> None:
    assert parse(form, [text]) == expected
    assert parse(form, list(text)) == expected


TEXTS = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", ";", "\n"),
            *("<|python_tag|>", CALL, f"[{CALL}]", '{"name": "g"}', '{"reply": "', '"}', "<", " "),
            *('{"tool": "f", "arguments": {}}', '{"', "\\", "\\u", "\\ud83c", "\\udfc1", "}", '"'),
            *("Hi ", "ü", "1", "[", "]", "d8"),
        ]
    ),
    max_size=12,
).map("".join)


@settings(deadline=None)
@given(
    st.sampled_from([PLAIN, THINKING, OPENED, TAGGED, LLAMA, MISTRAL, CHOICE]),
    TEXTS,
    st.lists(st.integers(0, 200), max_size=8),
)
def test_where_a_reply_is_cut_into_pieces_does_not_matter(
    form: ReplyFormat, text: str, cuts: list[int]
) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    whole = parse(form, [text])
    assert parse(form, pieces) == whole
    assert parse(form, list(text)) == whole
    for event in whole:
        if event[0] == "Call":
            assert isinstance(json.loads(event[2]), dict)


@given(TEXTS)
def test_content_is_lost_by_no_format(text: str) -> None:
    assert parse(PLAIN, [text]) == ([("Content", text)] if text else [])
    if "<tool_call>" not in text:
        tagged = ReplyFormat("tagged", names=("f",))
        assert parse(tagged, [text]) == ([("Content", text)] if text else [])


def test_the_string_of_a_choice_is_streamed() -> None:
    parser = ReplyParser(CHOICE)
    assert parser.feed('{"reply": "Brake ') == [Content("Brake ")]
    assert parser.feed("late") == [Content("late")]
    assert parser.feed('."}') == [Content(".")]


def test_ids_are_nine_letters_and_differ() -> None:
    parser = ReplyParser(TAGGED)
    events = parser.feed(f"<tool_call>{CALL}</tool_call>" * 3) + parser.end()
    ids = [event.id for event in events if isinstance(event, ToolStart)]
    assert len(set(ids)) == 3
    assert all(len(each) == 9 and each.isalnum() for each in ids)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (None, PLAIN),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", PLAIN),
        ("{{ m.content.split('</think>')[-1] }}", THINKING),
        ("{% if tools %}<tools>{% endif %}<tool_call>\n{{ c | tojson }}\n</tool_call>", "tagged"),
        ("{% if tools %}{% endif %}<tool_call>[{\"name\": 'f'}]</tool_call>", "list"),
        ("{% if tools %}{% endif %}<tool_call>\n<function=f>", PLAIN),
        ('{% if tools %}{% endif %}<|start_header_id|>ipython{"parameters": }', "llama"),
        ("{% if tools %}{% endif %}{{ '[TOOL_CALLS] [' }}", "mistral"),
        ("{% if tools %}{% endif %}[TOOL_CALLS]name[ARGS]{}", PLAIN),
    ],
)
def test_the_format_is_read_from_the_template(
    template: str | None, expected: ReplyFormat | str
) -> None:
    form = detect_format(template)
    assert form == expected if isinstance(expected, ReplyFormat) else form.calls == expected
