"""A reply is held to a schema or a grammar, token by token, whatever the model would rather say."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import jsonschema
import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from runtime.llm.engine.protocol import Drop, Failed, Prepared, Run
from runtime.llm.grammar import BadGrammar, convert_schema, make_object_grammar, translate_gbnf
from runtime.llm.inference import Sampling
from tests.llm import tinymodel
from tests.llm.worker.harness import Reply, Worker, engine

CELLS: Final = 4096
ROOM: Final = 2500
HOT: Final = Sampling(temperature=1.5, top_k=0, top_p=1.0, seed=0)
ASK: Final = [("user", "hello")]
"""No answer of a worker takes longer, or `harness.Worker` gives up."""


@pytest.fixture(scope="module")
def babbler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A model of random weights, which says anything at all."""
    shape = tinymodel.Shape(context=CELLS)
    path = tinymodel.write_random(tmp_path_factory.mktemp("models") / "noise.gguf", shape)
    with engine(path, budget=CELLS) as started:
        yield started


def say(worker: Worker, grammar: str, seed: int = 0, trigger: str = "") -> Reply:
    sampling = replace(HOT, seed=seed, grammar=grammar, grammar_trigger=trigger)
    return worker.ask(ASK, sampling=sampling, max_output=ROOM)


def refusal(worker: Worker, grammar: str) -> str:
    """Why the grammar is refused; empty: it is not."""
    answer = worker.prepare(ASK, sampling=replace(HOT, grammar=grammar))
    if isinstance(answer, Prepared):
        return ""
    assert answer.bad_grammar
    return answer.reason


# --- schemas

NAMES: Final = ["a", "b", "name", "lap time", "ü", 'quo"te', "$x"]
TEXTS: Final = st.text(st.sampled_from('ab é"\\\n/🏁0'), max_size=5)
LEAVES: Final = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(
        lambda least, more: {"type": "integer", "minimum": least, "maximum": least + more},
        st.integers(-1500, 1500),
        st.integers(0, 3000),
    ),
    st.builds(
        lambda least, more: {
            "type": "number",
            "exclusiveMinimum": least / 8,
            "maximum": (least + more) / 8,
        },
        st.integers(-100, 100),
        st.integers(8, 500),
    ),
    st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    st.sampled_from(
        [
            {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{1,3}$"},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "uuid"},
            {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 100},
            {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
        ]
    ),
    st.lists(st.one_of(st.integers(-9, 9), st.booleans(), st.none(), TEXTS), min_size=1).map(
        lambda values: {"enum": values}
    ),
    TEXTS.map(lambda text: {"const": text}),
)


def objects(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    return st.builds(
        lambda properties, optional: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in optional],
            "additionalProperties": False,
        },
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
        st.sets(st.sampled_from(NAMES)),
    )


def branches(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    arrays = st.builds(
        lambda items, least, more: {
            "type": "array",
            "items": items,
            "minItems": least,
            "maxItems": least + more,
        },
        inner,
        st.integers(0, 2),
        st.integers(0, 3),
    )
    either = st.lists(inner, min_size=1, max_size=3).map(_either)
    return st.one_of(objects(inner), arrays, either, objects(inner.map(_defined)))


def _either(some: list[dict[str, object]]) -> dict[str, object]:
    return {"anyOf": some}


def _defined(schema: dict[str, object]) -> dict[str, object]:
    return {"$ref": "#/$defs/one", "$defs": {"one": schema}}


def without_definitions(schema: object) -> object:
    """The schema with what its references name in their place, as the root has no such table."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return without_definitions(schema["$defs"]["one"])
        return {key: without_definitions(value) for key, value in schema.items()}
    return [without_definitions(one) for one in schema] if isinstance(schema, list) else schema


SCHEMAS: Final = st.recursive(LEAVES, branches, max_leaves=6).map(without_definitions)


@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(schema=SCHEMAS, seed=st.integers(0, 1 << 30))
def test_whatever_the_dice_say_the_reply_is_valid_json_of_its_schema(
    babbler: Worker, schema: dict[str, object], seed: int
) -> None:
    reply = say(babbler, convert_schema(schema), seed)
    assume(reply.ended.finish != "length")
    assert reply.ended.finish == "stop", reply.ended.reason
    value = orjson.loads(reply.text)
    jsonschema.validate(value, schema, jsonschema.Draft202012Validator)


MODEL_SCHEMA: Final = {
    "$defs": {
        "Corner": {
            "title": "Corner",
            "type": "object",
            "properties": {
                "name": {"title": "Name", "type": "string", "maxLength": 12},
                "speed_kmh": {"title": "Speed", "type": "number", "minimum": 0, "maximum": 400},
                "kind": {"$ref": "#/$defs/Kind", "default": "fast"},
                "note": {
                    "anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["name", "speed_kmh"],
        },
        "Kind": {"enum": ["fast", "slow"], "title": "Kind", "type": "string"},
    },
    "title": "Lap",
    "description": "What pydantic writes for a model with a model in it.",
    "type": "object",
    "properties": {
        "corners": {
            "type": "array",
            "items": {"$ref": "#/$defs/Corner", "additionalProperties": False},
            "maxItems": 3,
        },
        "best": {"type": "boolean"},
    },
    "required": ["corners", "best"],
    "additionalProperties": False,
}


def test_a_schema_with_definitions_titles_and_defaults_is_held(babbler: Worker) -> None:
    schema = json.loads(json.dumps(MODEL_SCHEMA))
    schema["$defs"]["Corner"]["additionalProperties"] = False
    for seed in range(10):
        reply = say(babbler, convert_schema(schema), seed)
        jsonschema.validate(orjson.loads(reply.text), schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "integer", "exclusiveMinimum": 1e9},
        {"type": "number", "minimum": -0.5, "maximum": 2.5},
        {"type": ["number", "null"], "multipleOf": 0.25},
    ],
)
def test_the_digits_of_a_number_have_an_end(babbler: Worker, schema: dict[str, object]) -> None:
    listed = {"type": "array", "items": schema, "minItems": 2, "maxItems": 2}
    for seed in range(30):
        reply = say(babbler, convert_schema(listed), seed)
        assert reply.ended.finish == "stop"
        assert not re.search(r"[0-9]{17}|\.[0-9]{11}", reply.text)
        jsonschema.validate(orjson.loads(reply.text), listed)


def test_what_a_schema_says_of_a_number_is_kept(babbler: Worker) -> None:
    long = {"type": "integer", "minimum": 1_700_000_000_000_000_000, "maximum": 1 << 62}
    fine = {"type": "number", "minimum": 1e-12, "maximum": 5e-12}
    listed = {"enum": [10**17, 3]}
    for schema in (long, fine, {**listed, "type": "integer"}, {"const": {"type": "integer"}}):
        reply = say(babbler, convert_schema(schema))
        jsonschema.validate(json.loads(reply.text), schema)


def test_any_object_is_an_object(babbler: Worker) -> None:
    ended = 0
    for seed in range(12):
        reply = say(babbler, make_object_grammar(), seed)
        assert reply.text.startswith("{")
        if reply.ended.finish == "stop":
            assert isinstance(json.loads(reply.text), dict)
            ended += 1
    assert ended


def test_the_grammar_holds_behind_its_trigger_only(babbler: Worker) -> None:
    grammar = convert_schema({"const": "yes"})
    texts = [say(babbler, grammar, seed, trigger="a").text for seed in range(6)]
    held = [text for text in texts if "a" in text]
    assert held
    for text in held:
        assert '"yes"'.startswith(text.partition("a")[2].lstrip()) or text.endswith('"yes"')


def test_a_grammar_is_held_at_temperature_zero_and_with_penalties_too(babbler: Worker) -> None:
    grammar = convert_schema({"type": "array", "items": {"const": "no"}, "minItems": 9})
    for sampling in (
        Sampling(0.0, 0, 1.0, 0, grammar=grammar),
        replace(HOT, grammar=grammar, frequency_penalty=2.0, presence_penalty=2.0, min_p=0.2),
        replace(HOT, grammar=grammar, logit_bias={"123": 100.0}, repeat_penalty=2.0),
    ):
        reply = babbler.ask(ASK, sampling=sampling, max_output=60)
        assert reply.text.startswith('["no", "no", "no"')


def test_the_probabilities_are_those_before_the_grammar(babbler: Worker) -> None:
    grammar = convert_schema({"const": "zzz"})
    free = babbler.ask(ASK, sampling=replace(HOT, logprobs=3), max_output=1)
    held = babbler.ask(ASK, sampling=replace(HOT, logprobs=3, grammar=grammar), max_output=1)
    (one,) = [token for piece in free.pieces for token in piece.logprobs]
    (other,) = [token for piece in held.pieces for token in piece.logprobs]
    assert [top.logprob for top in one.top] == [top.logprob for top in other.top]
    assert other.token == '"'
    assert other.logprob < other.top[0].logprob


# --- what cannot be held

REFUSED: Final[Mapping[str, tuple[dict[str, object], str]]] = {
    "not": ({"not": {"type": "string"}}, "not"),
    "unique items": ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    "if": ({"if": {"type": "string"}, "then": {"minLength": 3}}, "if"),
    "contains": ({"type": "array", "contains": {"type": "integer"}}, "contains"),
    "property names": ({"type": "object", "propertyNames": {"pattern": "^a"}}, "propertyNames"),
    "dependencies": ({"dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    "unevaluated": ({"unevaluatedProperties": False}, "unevaluatedProperties"),
    "one of that overlaps": ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "oneOf"),
    "few properties": (
        {"type": "object", "properties": {"a": {}}, "minProperties": 2},
        "minProperties",
    ),
    "an unknown format": ({"type": "string", "format": "iri"}, "format"),
    "look-around": ({"type": "string", "pattern": "^(?=a)b"}, "pattern"),
    "no regular expression": ({"type": "string", "pattern": "("}, "pattern"),
    "an unknown type": ({"type": "strng"}, "type"),
    "nothing fits": ({"type": "integer", "minimum": 5, "maximum": 2}, "no value"),
    "a short range": (
        {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1},
        "exclusiveMaximum",
    ),
    "elsewhere": ({"$ref": "http://127.0.0.1:9/x.json"}, "$ref"),
    "nowhere": ({"$ref": "#/$defs/nothing"}, "$ref"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_held_is_refused_by_its_keyword(babbler: Worker, name: str) -> None:
    schema, keyword = REFUSED[name]
    try:
        reason = refusal(babbler, convert_schema(schema))
    except BadGrammar as error:
        reason = str(error)
    assert keyword in reason


def test_a_refusal_repeats_nothing_of_the_input(babbler: Worker) -> None:
    for schema in ({"type": "x7secret"}, {"type": "string", "pattern": "(x7secret"}):
        assert "x7secret" not in refusal(babbler, convert_schema(schema))


# --- what wants to do harm: an answer comes, and the worker lives

DEEP: Final = "(" * 40 + '"a"' + ")" * 40
HOSTILE: Final[Mapping[str, str]] = {
    "histories without number": translate_gbnf('root ::= x\nx ::= "a" x "b" | "a" x "c" | "a"'),
    "ambiguous": translate_gbnf('root ::= s\ns ::= s s s | s s | "a" |'),
    "nested stars": translate_gbnf('root ::= a*\na ::= b*\nb ::= "a"*'),
    "left recursion": translate_gbnf('root ::= root "a" | "a"'),
    "itself": translate_gbnf("root ::= root"),
    "repeated repetitions": translate_gbnf('root ::= (("a"{0,1000}){0,1000}){0,1000}'),
    "doubling": translate_gbnf(
        "\n".join(f"x{at} ::= x{at + 1} x{at + 1}" for at in range(60))
        + '\nx60 ::= "a"\nroot ::= x0'
    ),
    "a chain": translate_gbnf(
        "".join(f"x{at} ::= x{at + 1}\n" for at in range(240)) + 'x240 ::= "a"\nroot ::= x0'
    ),
    "brackets": translate_gbnf(f"root ::= {DEEP}"),
    "a pattern of patterns": convert_schema(
        {"type": "string", "pattern": "^((((a{1,1000}){1,1000}){1,1000}){1,1000})$"}
    ),
    "backtracking": convert_schema({"type": "string", "pattern": "^((a|aa)+)+$"}),
    "a long memory": convert_schema({"type": "string", "pattern": "^(.*a.{20}){3}b$"}),
    "a long text": convert_schema({"type": "string", "minLength": 10**9}),
    "many items": convert_schema(
        {"type": "array", "minItems": 10**6, "items": {"type": "array", "minItems": 10**6}}
    ),
    "many properties": convert_schema(
        {"type": "object", "properties": {f"p{at}": {"type": "integer"} for at in range(1000)}}
    ),
    "all of any": convert_schema(
        {
            "allOf": [
                {
                    "anyOf": [
                        {"properties": {f"p{at}": {"type": kind}}} for kind in ("null", "array")
                    ]
                }
                for at in range(30)
            ]
        }
    ),
    "a chain of references": convert_schema(
        {
            "$ref": "#/$defs/d0",
            "$defs": {
                **{
                    f"d{at}": {
                        "type": "object",
                        "properties": {"a": {"$ref": f"#/$defs/d{at + 1}"}},
                        "required": ["a"],
                    }
                    for at in range(250)
                },
                "d250": {},
            },
        }
    ),
    "a schema of itself": convert_schema({"$ref": "#"}),
    "fine steps": convert_schema({"type": "integer", "multipleOf": 19_997}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_grammar_is_refused_or_followed_and_can_be_stopped(
    babbler: Worker, name: str
) -> None:
    prepared = babbler.prepare(ASK, sampling=replace(HOT, grammar=HOSTILE[name]))
    if isinstance(prepared, Failed):
        assert prepared.bad_grammar
    else:
        babbler.send(Run(prepared.job, None, HOT, ROOM, []))
        time.sleep(0.3)
        babbler.send(Drop(prepared.job))
        ended = babbler.finish().ended
        assert ended.finish in ("aborted", "stop", "length") or ended.bad_grammar, ended.reason
    assert babbler.ask(ASK, max_output=3).ended.finish == "length"


# --- GBNF


@pytest.mark.parametrize(
    ("grammar", "pattern"),
    [
        ('root ::= ("a" | "ab") "bc"', "abc|abbc"),
        ('root ::= word "x" [0-9]\nword ::= [a-z]{1,4}', "[a-z]{1,4}x[0-9]"),
        ('root ::= "\\"" [^"\\\\\\x00-\\x1F]{3} "\\""', r'"[^"\\]{3}"'),
        ('root ::= [\\u00e4\\U0001F3C1-\\U0001F3C3] "]"', "[ä🏁-🏃]]"),
        ("root-1 ::= [a-c]\nroot ::= Root-1\nRoot-1 ::= root-1 [-x] |", "([a-c][-x])?"),
        ('root ::= "a"{3} "b"{1,} "c"? | (\n "d"\n "e"\n)', "aaab+c?|de"),
        ("root ::=\n  [a] |\n  [b]\n", "a|b"),
        ("root ::= .{2}", "(?s:..)"),
    ],
)
def test_every_part_of_the_notation_means_what_it_means_in_llama_cpp(
    babbler: Worker, grammar: str, pattern: str
) -> None:
    texts = {say(babbler, translate_gbnf(grammar), seed).text for seed in range(8)}
    assert [text for text in texts if not re.fullmatch(pattern, text)] == []
