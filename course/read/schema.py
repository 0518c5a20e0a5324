"""JSON Schema checks: jsonschema-rs decides, this module finds the words and the place."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from string import Template
from typing import Any, Final

import jsonschema_rs
import orjson
import pyromark

from course import yamlsource
from course.diagnostics import Problem, did_you_mean, nearest, shorten

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_INSTALLED: Final = _PACKAGE / "schemas"
FOLDER: Final = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "schemas" / "course"
SUFFIX: Final = ".schema.json"
_TYPES: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
SKELETONS: Final = Path(__file__).resolve().parents[1] / "skeletons"
_NOBODY: Final = "nobody"  # an id that no source has: what refers to it is left out
_CODES: Final = {
    "type": "SCH001",
    "required": "SCH002",
    "additionalProperties": "SCH003",
    "enum": "SCH004",
    "pattern": "SCH005",
    "minLength": "SCH006",
    "maxLength": "SCH006",
    "minimum": "SCH007",
    "maximum": "SCH007",
    "exclusiveMinimum": "SCH007",
    "exclusiveMaximum": "SCH007",
    "uniqueItems": "SCH008",
    "minItems": "SCH009",
    "maxItems": "SCH009",
    "minProperties": "SCH009",
    "maxProperties": "SCH009",
    "const": "SCH010",
    "format": "SCH005",
}

_MARKUP: Final = ("<", "](", "$")  # one is in each text that holds what only bodies show
_ODD: Final = (b".0", *map(str.encode, _MARKUP))  # one is in all data that hold an odd value
_LOOSE_BOOLEANS: Final = {"yes", "no", "on", "off", "True", "False", "TRUE", "FALSE"}
# The titles of the types that are shown as text with code and emphasis, and what these do not show.
_TEXTS: Final = frozenset(
    ("Title", "Summary", "Text", "Long text", "Objective", "Prose", "Explanation")
)
_KINDS: Final = {
    "Link": "a link",
    "Image": "a picture",
    "InlineMath": "a formula",
    "DisplayMath": "a formula",
    "InlineHtml": "HTML",
    "HtmlBlock": "HTML",
}
_ONLY_BODIES: Final = {
    "a link": "write the words alone here, and link them in the body",
    "a picture": "move it into the body",
    "a formula": "write it with plain signs, such as √2, or in the body",
    "HTML": "use *emphasis*; to show a tag, put it in backticks",
}
_NO_DAY: Final = "is not a real date"
_SUCH_AS: Final = re.compile(r"such as ([^\s,:]*[^\s,:.])")
_FLOW: Final = re.compile(r"[A-Za-z][^\"'{}\[\],#]*")  # text that needs no quotes inside braces
_NO_FORM: Final = "does not have the right form"
# Texts that look like numbers when a part of them is missing: how their pattern begins.
_NUMBERS: Final = {
    r"^(0|[1-9][0-9]*)\.": "write three numbers, such as 1.2.0",
    "^[1-9][0-9]{3}-": "write the whole day, as YYYY-MM-DD",
}
_LIMITS: Final = {
    "minLength": ("is too short", "at least {} characters", "add at least {} characters"),
    "maxLength": ("is too long", "at most {} characters", "shorten it by {} characters"),
    "minimum": ("is too small", "at least {}", "write {} or more"),
    "exclusiveMinimum": ("is too small", "more than {}", "write more than {}"),
    "maximum": ("is too large", "at most {}", "write {} or less"),
    "minItems": ("has too few entries", "at least {} entries", "add at least {}"),
    "maxItems": ("has too many entries", "at most {} entries", "remove at least {}"),
    "minProperties": ("has too few entries", "at least {} keys", "add at least {}"),
    "maxProperties": ("has too many entries", "at most {} keys", "remove at least {}"),
}


def names() -> list[str]:
    """The names of all schemas, without suffix."""
    return sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called *name* as data; callers must not change it."""
    data: dict[str, Any] = json.loads((FOLDER / f"{name}{SUFFIX}").read_bytes())
    return data


@cache
def open_schema(name: str) -> dict[str, Any]:
    """The schema called *name* as clients get it: without examples, and a resource may grow.

    The build is strict, so that it writes no key that nothing describes. A client must be able to
    read the resources of a later version, which may hold more.
    """
    whole = {key: value for key, value in schema(name).items() if key != "examples"}
    return dict(_open_node(whole)) if name.endswith(".v1") else whole


def _open_node(node: Any) -> Any:
    """*node* of a schema without the bans on keys that it does not name."""
    if isinstance(node, list):
        return [_open_node(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = node.get("additionalProperties") is False
    return {
        key: _open_node(value)
        for key, value in node.items()
        if not (closed and key == "additionalProperties")
    }


@cache
def compile_validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """The compiled schema called *name*."""
    return jsonschema_rs.Draft202012Validator(schema(name), validate_formats=True)


def check(name: str, data: object, file: str) -> list[Problem]:
    """Every way in which *data* breaks the schema *name*; empty when it is valid."""
    compiled = compile_validator(name)
    problems: list[Problem] = []
    if not compiled.is_valid(data):
        for error in compiled.iter_errors(data):
            problems.extend(_report(error, schema(name), file))
        problems = _drop_consequences(problems)
    if not name.endswith(".v1") and any(map(orjson.dumps(data).__contains__, _ODD)):
        problems += _check_values(data, (), schema(name), file)
    return problems


def select_sound_keys(name: str, data: object) -> dict[str, Any]:
    """Return the keys of *data* that are valid against the schema *name*."""
    broken = {problem.path[0] for problem in check(name, data, "") if problem.path}
    pairs = data.items() if isinstance(data, dict) else ()
    return {key: value for key, value in pairs if key not in broken}


def _check_values(
    data: Any, path: tuple[str | int, ...], root: dict[str, Any], file: str
) -> Iterator[Problem]:
    """Yield the problems of values that JSON Schema cannot express.

    It takes 35.0 for a whole number, and readers of the resources may not; and in a text it does
    not see what only bodies show.
    """
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs if isinstance(data, dict | list) else ():
        at = (*path, key)
        if isinstance(value, dict | list):
            yield from _check_values(value, at, root, file)
        elif isinstance(value, float) and value.is_integer() and _is_whole(_find_node(root, at)):
            message, hint = f"{key} has the wrong type", f"write {int(value)}"
            expected = _TYPES["integer"]
            yield Problem("SCH001", file, message, at, False, None, expected, str(value), hint)
        elif isinstance(value, str) and any(map(value.__contains__, _MARKUP)):
            shown = _find_node(root, at).get("title") in _TEXTS
            for what, piece in _find_body_markup(value).items() if shown else ():
                message = f"a field would show {what} as plain text"
                yield Problem("MD019", file, message, at, got=piece, hint=_ONLY_BODIES[what])


def _find_body_markup(text: str) -> dict[str, str]:
    """Return the kinds of markup in *text* that only bodies show, with the first piece of each."""
    pieces: dict[str, str] = {}
    data, options = text.encode(), pyromark.Options.ENABLE_MATH
    events: Iterator[Any] = pyromark.events_with_range(text, options=options)
    for event, where in events:
        tag = event if type(event) is str else event.get("Start", event)
        kind = tag if type(tag) is str else next(iter(tag))
        start, end = where["start"], where["end"]
        money = kind == "InlineMath" and data[end : end + 1].isdigit()
        if kind in _KINDS and not money:
            pieces.setdefault(_KINDS[kind], shorten(data[start:end].decode()))
    return pieces


def _is_whole(node: dict[str, Any]) -> bool:
    """Whether the schema *node* wants a whole number."""
    return node.get("type") == "integer" or isinstance(node.get("const"), int)


def _find_node(root: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    """Return the part of the schema for the value at *path* of the data."""
    node: dict[str, Any] = root
    for step in path:
        node = (
            node.get("items", {})
            if isinstance(step, int)
            else node.get("properties", {}).get(step, {})
        )
        node = _resolve(node, root)
    return node


def _drop_consequences(problems: list[Problem]) -> list[Problem]:
    """*problems* without what only follows from another problem at the same place."""
    misspelt = {
        (problem.path[:-1], problem.hint)
        for problem in problems
        if problem.path and problem.code == "SCH003"
    }
    no_day = {problem.path for problem in problems if problem.message.endswith(_NO_DAY)}
    no_type = {problem.path for problem in problems if problem.code == "SCH001"}
    return [
        problem
        for problem in problems
        if not (
            problem.path
            and problem.code == "SCH002"
            and (problem.path[:-1], did_you_mean(str(problem.path[-1]))) in misspelt
        )
        and not (problem.path in no_day | no_type and problem.message.endswith(_NO_FORM))
    ]


def _report(error: Any, root: dict[str, Any], file: str) -> Iterator[Problem]:
    keyword, path = error.kind.name, tuple(error.instance_path)
    if branch := _nearest_branch(error):
        for inner in branch:
            yield from _report(inner, root, file)
        return
    part = _resolve(reduce(getitem, error.schema_path[:-1], root), root)
    if keyword == "additionalProperties":
        keys = list(part.get("properties", {}))
        for key in error.kind.unexpected:
            yield Problem(
                "SCH003",
                file,
                f'"{shorten(key)}" is not a key of {_describe_place(path, root)}',
                (*path, key),
                on_key=True,
                expected=", ".join(keys),
                got=shorten(key),
                hint=_suggest_quotes(error.instance, key) or nearest(key, keys),
            )
    elif keyword == "required":
        key = error.kind.property
        wanted = _resolve(part.get("properties", {}).get(key, {}), root)
        yield Problem(
            "SCH002",
            file,
            f'{_describe_place(path, root)} lacks "{key}"',
            (*path, key),
            expected=wanted.get("description"),
            hint=f"add {key}:",
        )
    else:
        yield _report_value(error, part, path, file)


def _suggest_quotes(mapping: Any, key: str) -> str | None:
    """Return a hint for words after a comma, which ends a text inside braces."""
    if mapping.get(key) is None and " " in key:
        return "put the text before it in quotes: inside { } a comma ends a text"
    return None


def _nearest_branch(error: Any) -> list[Any]:
    """Return the errors of the closest alternative; empty when only a choice is missing."""
    context = getattr(error.kind, "context", None)
    branch = min(context, key=len) if context else []
    chosen = any(inner.kind.name != "required" for inner in branch)
    return list(branch) if chosen else []


def _report_value(
    error: Any, part: dict[str, Any], path: tuple[str | int, ...], file: str
) -> Problem:
    keyword, value = error.kind.name, error.instance
    if keyword == "uniqueItems":
        number = next(n for n, item in enumerate(value) if item in value[:n])
        path, value = (*path, number), value[number]
    code = _CODES.get(keyword, "SCH012")
    message, expected, hint = _phrase(keyword, part, value, path)
    if keyword == "pattern":
        title = str(part.get("title", ""))
        if title.lower() in ("id", "any id", "concept id"):
            code, message = "IDS001", f'"{shorten(value)}" is not a valid id'
            hint = _suggest_id(str(value), "_" if title.lower() == "concept id" else "-")
        elif "line" in str(part.get("description", "")).lower() and "\n" in str(value):
            code, message = "SCH011", "this text must be on one line"
            hint = "shorten it, or move it into the body"
    return Problem(code, file, message, path, expected=expected, got=_describe(value), hint=hint)


def _phrase(
    keyword: str, part: dict[str, Any], value: Any, path: tuple[str | int, ...]
) -> tuple[str, str | None, str | None]:
    """Message, expectation and hint for one failed keyword."""
    name = next((str(step) for step in reversed(path) if isinstance(step, str)), "the value")
    if keyword == "type":
        wanted = part["type"]
        kinds = [_TYPES[kind] for kind in (wanted if isinstance(wanted, list) else [wanted])]
        return (
            f"{name} has the wrong type",
            " or ".join(kinds),
            _suggest_type(part, value, name, path) or f"write {kinds[0]}",
        )
    if keyword == "enum":
        options = [str(option) for option in part["enum"]]
        hint = nearest(str(value), options) or f"write {options[0]}, for example"
        return f"{name} does not allow this value", ", ".join(options), hint
    if keyword == "const":
        return f"{name} must be {part['const']}", str(part["const"]), f"write {part['const']}"
    if keyword == "uniqueItems":
        return f"{name} lists an entry twice", "each entry once", "remove one of the two"
    if keyword in _LIMITS:
        (fault, words, cure), limit = _LIMITS[keyword], part[keyword]
        sized = hasattr(value, "__len__")
        size = f" (it has {len(value)})" if sized else ""
        missing = abs(len(value) - limit) if sized else limit
        return f"{name} {fault}", words.format(limit) + size, cure.format(missing)
    described = part.get("description")
    if keyword == "format":
        return f"{name} {_NO_DAY}", described, "write a day that exists, as YYYY-MM-DD"
    if isinstance(value, dict):
        name = _describe_place(path, {})
    return f"{name} {_NO_FORM}", described, _suggest_form(part, value)


def _suggest_form(part: dict[str, Any], value: Any) -> str:
    """Return a hint for a value of the wrong form."""
    if str(part.get("pattern", "")).startswith("^https://"):
        return "write the whole address, beginning with https://"
    if isinstance(value, dict):
        choice = part.get("oneOf", part.get("anyOf", ()))
        keys = [key for way in choice for key in way.get("required", ())]
        some = any(key in value for key in keys)
        return f"{'keep only one of' if some else 'add'} {' or '.join(keys)}"
    pattern, described = str(part.get("pattern", "")), str(part.get("description", ""))
    for start, whole in (("^media/", f"media/{value}"), ("^#", f"#{value}")):
        if pattern.startswith(start) and re.match(pattern, whole):
            return f"write {json.dumps(whole)}"
    if example := _SUCH_AS.search(described):
        return f"write it as in {example[1]}"
    return "follow the described form"


def _suggest_type(
    part: dict[str, Any], value: object, name: str, path: tuple[str | int, ...]
) -> str | None:
    wanted, required = part.get("type"), part.get("required", ())
    if isinstance(value, str) and value in _LOOSE_BOOLEANS:
        return "write true or false"
    if wanted == "array" and isinstance(value, str):
        return f"write {name}: [{shorten(value)}]"
    if wanted == "object" and isinstance(value, str) and value:
        return _suggest_mapping(part, value)
    if wanted == "object" and isinstance(value, list) and not path and len(required) == 1:
        return f"begin the file with {required[0]}: and indent the list below it"
    if wanted == "string" and isinstance(value, int | float):
        for form, hint in _NUMBERS.items():
            if str(part.get("pattern", "")).startswith(form):
                return hint
        return f'put it in quotes: "{value}"'
    if wanted == "string" and value is None:
        return f"write a text after {name}:"
    if wanted in ("integer", "number") and isinstance(value, str):
        return "write a plain number, without quotes, unit or leading zero"
    return None


def _suggest_mapping(part: dict[str, Any], value: str) -> str | None:
    """The mapping that an author meant who wrote one text in its place."""
    ways = [part, *part.get("oneOf", ()), *part.get("anyOf", ())]
    keys: list[str] = next((way["required"] for way in ways if way.get("required")), [])
    own = "url" if value.startswith("https:") and "url" in keys else next(iter(keys), "")
    text = (
        shorten(value) if _FLOW.fullmatch(value) else json.dumps(shorten(value), ensure_ascii=False)
    )
    pairs = [f"{key}: {text if key == own else '…'}" for key in keys]
    return f"write {{{', '.join(pairs)}}}" if pairs else None


def _suggest_id(value: str, joiner: str) -> str:
    """The id that the author probably meant."""
    plain = unicodedata.normalize("NFKD", value.casefold())
    letters = (c for c in plain if not unicodedata.combining(c))
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in letters).split()
    while words and not words[0][0].isalpha():
        words = words[1:]
    meant = joiner.join(words)
    return f"write {meant}" if len(meant) > 2 else f"lower-case words joined by {joiner}"


def _resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """*node* of a schema with what it refers to."""
    if "$ref" not in node:
        return node
    target: dict[str, Any] = reduce(getitem, node["$ref"].removeprefix("#/").split("/"), root)
    return {**target, **node}


def _describe_place(path: tuple[str | int, ...], root: dict[str, Any]) -> str:
    if not path:
        return f"the {str(root.get('title', 'document')).lower()}"
    *_, last = path
    if isinstance(last, int):
        owner = next((str(step) for step in reversed(path) if isinstance(step, str)), "the list")
        return f"entry {last + 1} of {owner}"
    return f'"{last}"'


def _describe(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return shorten(str(value).lower() if isinstance(value, bool) else str(value))


# -- stand-ins: `serve` shows a source with mistakes, too ----------------------------------------


def complete_source(kind: str, data: Any, name: str) -> dict[str, Any] | None:
    """Return valid data of *kind* with the sound keys of *data*, and those of a skeleton.

    *name* is the id in the name of the folder or file. None for kinds without a skeleton.
    """
    kept = select_sound_keys(kind, data)
    planned = kept.get("status") == "planned" and kind in ("lesson", "project")
    base = _read_skeleton(f"{kind}-planned" if planned else kind, name)
    if base is None:
        return None
    for candidate in (base | kept, base):
        if compile_validator(kind).is_valid(candidate):
            return candidate
    return None


def _read_skeleton(name: str, identity: str) -> dict[str, Any] | None:
    path = _find_skeleton(name)
    if path is None:
        return None
    words = dict.fromkeys(("part", "phase", "pathway", "lesson", "first"), _NOBODY)
    words |= {"quoted": "TODO", "lang": "en", "updated": "2000-01-01"}
    title = identity.replace("-", " ").capitalize()
    text = Template(_front(path)).safe_substitute(words, id=identity, title=title)
    data: dict[str, Any] | None = yamlsource.parse(text, path.name)[0]
    return data


@cache
def _find_skeleton(name: str) -> Path | None:
    places = (f"{name}.md", f"{name}.yaml", f"init/content/{name}.yaml")
    return next((path for path in map(SKELETONS.joinpath, places) if path.is_file()), None)


@cache
def _front(path: Path) -> str:
    """The YAML of a skeleton: all of it, or the front matter."""
    text = path.read_text("utf-8")
    return text.split("---\n")[1] if path.suffix == ".md" else text
