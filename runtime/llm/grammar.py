"""What a reply must match, as text for the engine: from a JSON Schema, from GBNF, or any object.

The text is a Lark grammar in the dialect of llguidance, which compiles it and enforces it.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

MAX_SCHEMA_CHARS: Final = 200_000
MAX_GBNF_CHARS: Final = 64_000
MAX_DEPTH: Final = 48
"""Levels of brackets in a grammar, of objects and arrays in a schema."""
MAX_RULES: Final = 250
MAX_REFS: Final = 256
"""The compiler follows rules and references in calls of its own: a chain of 1,000 ends it."""
MAX_PROPERTIES: Final = 1000
MAX_STEPS: Final = 20_000
"""Least common multiple of every multipleOf: the compiler makes as many states, 0.25 s."""
MAX_REPEATS: Final = 2000
MOST: Final = 10**16 - 1
"""The largest number where a schema sets no bound: one of 16 digits."""
DECIMALS: Final = 10
"""Of a number where a schema sets no step; the compiler takes no finer one."""
_BOUNDS: Final = {
    "exclusiveMinimum": ("maximum", "exclusiveMaximum"),
    "exclusiveMaximum": ("minimum", "exclusiveMinimum"),
}
_LOWER: Final = {"minimum", "exclusiveMinimum"}
_UPPER: Final = {"maximum", "exclusiveMaximum"}
_OPENINGS: Final = {
    *("additionalProperties", "patternProperties", "unevaluatedProperties"),
    *("allOf", "anyOf", "oneOf", "$ref", "if"),
}
"""Keywords beside which the properties of an object are not all that it may have."""
_DATA: Final = {"const", "enum", "default", "examples"}
"""Keywords whose values are no schemas."""
_STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""One way to write a value: free white space is a place where small models never end."""


class BadGrammar(ValueError):
    """This cannot be enforced; the text is for a client."""


def schema_grammar(schema: Mapping[str, object]) -> str:
    """JSON of the *schema*; raises `BadGrammar`.

    A ``$ref`` may point at ``#/$defs/…``. The compiler names keywords that it cannot enforce.
    """
    check_schema(schema)
    text = json.dumps({**limit_digits(schema), "x-guidance": _STYLE}, ensure_ascii=False)
    if len(text) > MAX_SCHEMA_CHARS:
        raise BadGrammar(f"the schema has more than {MAX_SCHEMA_CHARS} characters")
    return f"start: json\njson: %json {text}\n"


def close_object(schema: Mapping[str, object]) -> dict[str, object]:
    """An object with the listed properties alone, unless the schema says more about others.

    Small models that may invent properties do not stop inventing them.
    """
    closed = dict(schema)
    if "properties" in closed and closed.keys().isdisjoint(_OPENINGS):
        closed["additionalProperties"] = False
    return closed


def limit_digits(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema, with bounds and a step for each number that has none.

    Small models that may write another digit do not stop.
    """
    limited = {name: value if name in _DATA else _limited(value) for name, value in schema.items()}
    given = schema.get("type")
    kinds = given if isinstance(given, list) else [given]
    ends = [end for name in _LOWER | _UPPER if isinstance(end := schema.get(name), int | float)]
    if "integer" not in kinds and "number" not in kinds:
        return limited
    if "const" in schema or "enum" in schema or any(abs(end) > MOST for end in ends):
        return limited
    if schema.keys().isdisjoint(_LOWER):
        limited["minimum"] = -MOST
    if schema.keys().isdisjoint(_UPPER):
        limited["maximum"] = MOST
    if "number" in kinds and all(round(end, DECIMALS) == end for end in ends):
        limited.setdefault("multipleOf", 10.0**-DECIMALS)
    return limited


def _limited(value: object) -> object:
    if isinstance(value, list):
        return [_limited(item) for item in value]
    return limit_digits(value) if isinstance(value, Mapping) else value


def object_grammar() -> str:
    """Any JSON object."""
    return schema_grammar({"type": "object"})


def check_schema(schema: Mapping[str, object]) -> None:
    """Raise `BadGrammar` for what would keep the compiler busy for long, or what it gets wrong."""
    level: list[object] = [[schema]]
    refs, names, steps = 0, 0, 1
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
        for node in level:
            if isinstance(node, Mapping):
                refs += isinstance(node.get("$ref"), str)
                properties = node.get("properties")
                names += len(properties) if isinstance(properties, Mapping) else 0
                steps = math.lcm(steps, _step(node.get("multipleOf")))
                _check_bounds(node)
        if refs > MAX_REFS:
            raise BadGrammar(f"the schema has more than {MAX_REFS} uses of $ref")
        if names > MAX_PROPERTIES:
            raise BadGrammar(f"the schema has more than {MAX_PROPERTIES} properties")
        if steps > MAX_STEPS:
            raise BadGrammar("the steps of multipleOf in the schema are too fine to be counted")
    raise BadGrammar(f"the schema is nested deeper than {MAX_DEPTH} levels")


def _check_bounds(node: Mapping[str, object]) -> None:
    """Refuse an excluded whole number less than 1 from the other bound: it would be let in."""
    for bound, others in _BOUNDS.items():
        edge = node.get(bound)
        if isinstance(edge, int | float) and edge == math.floor(edge):
            ends = (node.get(other) for other in others)
            if any(isinstance(end, int | float) and abs(end - edge) < 1 for end in ends):
                raise BadGrammar(f"{bound} of the schema cannot be enforced for so short a range")


def _inside(node: object) -> Iterable[object]:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list) else ()


def _step(value: object) -> int:
    """The digits of a step without its decimal point."""
    if isinstance(value, int | float) and math.isfinite(value) and value > 0:
        digits = Decimal(repr(value)).as_tuple().digits
        return int("".join(map(str, digits)).rstrip("0") or 1)
    return 1


# --- GBNF, the notation of llama.cpp

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+|\#[^\r\n]*)
      | (?P<line>\r\n|\r|\n)
      | (?P<rule>[A-Za-z0-9_-]+)(?P<defines>[ \t]*::=)?
      | "(?P<string>(?:[^"\\\r\n]|\\.)*)"
      | \[(?P<negated>\^)?(?P<members>(?:[^\]\\\r\n]|\\.)*)\]
      | (?P<any>\.)
      | (?P<sign>[|()])
      | (?P<repeat>[*+?]|\{[ \t]*[0-9]{1,9}[ \t]*(?:,[ \t]*(?:[0-9]{1,9})?[ \t]*)?\})""",
    re.VERBOSE,
)
_LETTER: Final = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\(.)|(.)", re.DOTALL
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_LITERAL: Final = '"\\[]-^'


def gbnf_grammar(text: str) -> str:
    """The same language as a GBNF grammar with the rule ``root``; raises `BadGrammar`.

    Every terminal becomes a single character, so that no longest match decides where one ends.
    """
    if len(text) > MAX_GBNF_CHARS:
        raise BadGrammar(f"the grammar has more than {MAX_GBNF_CHARS} characters")
    rules: dict[str, list[str]] = {}
    used: set[str] = set()
    body: list[str] | None = None
    depth, ends, repeatable, line = 0, True, False, 1
    for match in _tokens(text):
        kind, can_repeat = match.lastgroup, False
        if kind == "space":
            continue
        if kind == "line":
            line += 1
            # an alternative may go on behind a line that ends with its sign
            ends = depth == 0 and bool(body) and body[-1] != "|" if body is not None else True
            continue
        if kind == "defines":
            if depth:
                raise BadGrammar(f"line {line} of the grammar: a bracket is not closed before it")
            if match["rule"] in rules:
                raise BadGrammar(f"line {line} of the grammar: a rule is defined twice")
            body = rules[match["rule"]] = []
            ends, repeatable = False, False
            continue
        if body is None or (ends and kind != "sign"):
            raise BadGrammar(f"line {line} of the grammar: a rule must begin with its name and ::=")
        if kind == "repeat":
            if not repeatable:
                raise BadGrammar(f"line {line} of the grammar: there is nothing to repeat")
            body.append(_repeat(match["repeat"], line))
        elif kind == "rule":
            used.add(match["rule"])
            body.append(f" {_name(match['rule'])} ")
            can_repeat = True
        elif kind == "sign":
            depth += {"(": 1, ")": -1, "|": 0}[match["sign"]]
            if not 0 <= depth <= MAX_DEPTH:
                raise BadGrammar(f"line {line} of the grammar: brackets do not match, or too many")
            _close_empty(body, match["sign"])
            body.append(match["sign"])
            can_repeat = match["sign"] == ")"
        else:
            body.append(_terminal(match, line))
            can_repeat = True
        ends, repeatable = False, can_repeat
    if depth:
        raise BadGrammar("the grammar ends inside a bracket")
    return _assemble(rules, used)


def _assemble(rules: dict[str, list[str]], used: set[str]) -> str:
    if "root" not in rules:
        raise BadGrammar("the grammar has no rule named root")
    if len(rules) > MAX_RULES:
        raise BadGrammar(f"the grammar has more than {MAX_RULES} rules")
    if used - rules.keys():
        raise BadGrammar("the grammar uses a rule that it does not define")
    lines = ["start: " + _name("root")]
    for rule, body in rules.items():
        _close_empty(body, ")")
        lines.append(f"{_name(rule)}: {''.join(body)}")
    return "\n".join(lines) + "\n"


def _close_empty(body: list[str], sign: str) -> None:
    """Write an empty alternative before *sign* as an empty text."""
    if sign in "|)" and (not body or body[-1] in ("|", "(")):
        body.append('""')


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            line = 1 + len(re.findall(r"\r\n|\r|\n", text[:at]))
            raise BadGrammar(f"line {line} of the grammar cannot be read")
        yield match
        at = match.end()


def _name(rule: str) -> str:
    """A name that no other rule has: the dialect knows no hyphens and no capitals here."""
    return "r_" + re.sub(r"[^a-z0-9]", lambda other: f"_{ord(other[0]):x}_", rule)


def _repeat(sign: str, line: int) -> str:
    if sign in "*+?":
        return sign
    least, comma, most = sign[1:-1].replace(" ", "").replace("\t", "").partition(",")
    if max(int(least), int(most or 0)) > MAX_REPEATS:
        raise BadGrammar(f"line {line} of the grammar: at most {MAX_REPEATS} repetitions")
    return f"{{{least},{most if comma else least}}}"


def _terminal(match: re.Match[str], line: int) -> str:
    if match["any"]:
        return "/(?s:.)/"
    if match["string"] is not None:
        letters = [_regex(letter) for letter in _letters(match["string"], line)]
        return "(" + (" ".join(f"/{letter}/" for letter in letters) or '""') + ")"
    members = match["members"]
    if not members:
        raise BadGrammar(f"line {line} of the grammar: a set of characters is empty")
    return f"/[{match['negated'] or ''}{_members(members, line)}]/"


def _members(members: str, line: int) -> str:
    """The inside of a set of characters, with its ranges."""
    letters = [(part[0], letter) for part, letter in _pairs(members, line)]
    out, at = [], 0
    while at < len(letters):
        low = high = letters[at][1]
        if at + 2 < len(letters) and letters[at + 1][0] == "-":
            high = letters[at + 2][1]
            at += 2
        if high < low:
            raise BadGrammar(f"line {line} of the grammar: a range of characters runs backwards")
        out.append(_regex(low) if low == high else f"{_regex(low)}-{_regex(high)}")
        at += 1
    return "".join(out)


def _letters(text: str, line: int) -> list[str]:
    return [letter for _, letter in _pairs(text, line)]


def _pairs(text: str, line: int) -> Iterator[tuple[str, str]]:
    """Each character as it is written and as it is meant."""
    for match in _LETTER.finditer(text):
        digits = match[1] or match[2] or match[3]
        if digits:
            number = int(digits, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise BadGrammar(f"line {line} of the grammar: there is no such character")
            yield match[0], chr(number)
        elif match[4]:
            letter = _ESCAPES.get(match[4], match[4])
            if letter == match[4] and letter not in _LITERAL + "/'":
                raise BadGrammar(f"line {line} of the grammar: an unknown escape")
            yield match[0], letter
        else:
            yield match[0], match[0]


def _regex(letter: str) -> str:
    """A character in a regular expression, inside a set or not."""
    return letter if letter.isalnum() and letter.isascii() else f"\\u{{{ord(letter):x}}}"
