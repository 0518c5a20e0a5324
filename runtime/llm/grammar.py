"""Grammars for replies, from a JSON Schema, from GBNF or for any JSON object.

They are Lark grammars in the dialect of llguidance, which compiles and enforces them.
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
"""Maximum nesting of brackets in a grammar, or of objects and arrays in a schema."""
MAX_RULES: Final = 250
MAX_REFS: Final = 256
"""The compiler follows rules and references recursively: a chain of 1,000 crashes it."""
MAX_PROPERTIES: Final = 1000
MAX_STEPS: Final = 20_000
"""Maximum least common multiple of all multipleOf: the compiler makes as many states, 0.25 s."""
MAX_REPEATS: Final = 2000
MOST: Final = 10**16 - 1
"""Bound of numbers without one in the schema: 16 digits."""
DECIMALS: Final = 10
"""Decimals of numbers without a step in the schema; the compiler supports no finer step."""
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
"""Keywords that allow an object further properties than those listed."""
_DATA: Final = {"const", "enum", "default", "examples"}
"""Keywords whose values are not schemas."""
_STYLE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""A single way to write a value: small models may never stop writing free white space."""


class BadGrammar(ValueError):
    """A grammar or schema cannot be enforced; the text is for a client."""


def convert_schema(schema: Mapping[str, object]) -> str:
    """The grammar of JSON that matches *schema*. Raises `BadGrammar`.

    A ``$ref`` may point to ``#/$defs/…``. The compiler reports keywords that it cannot enforce.
    """
    check_schema(schema)
    text = json.dumps({**limit_digits(schema), "x-guidance": _STYLE}, ensure_ascii=False)
    if len(text) > MAX_SCHEMA_CHARS:
        raise BadGrammar(f"the schema has more than {MAX_SCHEMA_CHARS} characters")
    return f"start: json\njson: %json {text}\n"


def close_object(schema: Mapping[str, object]) -> dict[str, object]:
    """Forbid unlisted properties of an object unless the schema mentions them.

    Small models that may invent properties never stop.
    """
    closed = dict(schema)
    if "properties" in closed and closed.keys().isdisjoint(_OPENINGS):
        closed["additionalProperties"] = False
    return closed


def limit_digits(schema: Mapping[str, object]) -> dict[str, object]:
    """Add bounds and a step to every number in a schema that has none.

    Small models that may write more digits never stop.
    """
    limited = {
        name: value if name in _DATA else _limit_inside(value) for name, value in schema.items()
    }
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
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


def _limit_inside(value: object) -> object:
    if isinstance(value, list):
        return [_limit_inside(item) for item in value]
    return limit_digits(value) if isinstance(value, Mapping) else value


def make_object_grammar() -> str:
    """The grammar of any JSON object."""
    return convert_schema({"type": "object"})


def check_schema(schema: Mapping[str, object]) -> None:
    """Raise `BadGrammar` for schemas that the compiler takes too long for or gets wrong."""
    level: list[object] = [[schema]]
    refs, names, steps = 0, 0, 1
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _list_children(outer)]
        if not level:
            return
        for node in level:
            if isinstance(node, Mapping):
                refs += isinstance(node.get("$ref"), str)
                properties = node.get("properties")
                names += len(properties) if isinstance(properties, Mapping) else 0
                steps = math.lcm(steps, _count_steps(node.get("multipleOf")))
                _check_bounds(node)
        if refs > MAX_REFS:
            raise BadGrammar(f"the schema has more than {MAX_REFS} uses of $ref")
        if names > MAX_PROPERTIES:
            raise BadGrammar(f"the schema has more than {MAX_PROPERTIES} properties")
        if steps > MAX_STEPS:
            raise BadGrammar("the multipleOf values of the schema are too fine together")
    raise BadGrammar(f"the schema is nested deeper than {MAX_DEPTH} levels")


def _check_bounds(node: Mapping[str, object]) -> None:
    """Reject an excluded integer within 1 of the other bound: the compiler would admit it."""
    for bound, others in _BOUNDS.items():
        edge = node.get(bound)
        if isinstance(edge, int | float) and edge == math.floor(edge):
            ends = (node.get(other) for other in others)
            if any(isinstance(end, int | float) and abs(end - edge) < 1 for end in ends):
                raise BadGrammar(f"{bound} of the schema cannot be enforced for such a short range")


def _list_children(node: object) -> Iterable[object]:
    if isinstance(node, Mapping):
        return node.values()
    return node if isinstance(node, list) else ()


def _count_steps(value: object) -> int:
    """The digits of a step without the decimal point."""
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


def translate_gbnf(text: str) -> str:
    """Convert a GBNF grammar with the rule ``root``. Raises `BadGrammar`.

    Every terminal becomes single characters, so that no longest match decides where one ends.
    """
    if len(text) > MAX_GBNF_CHARS:
        raise BadGrammar(f"the grammar has more than {MAX_GBNF_CHARS} characters")
    rules: dict[str, list[str]] = {}
    used: set[str] = set()
    body: list[str] | None = None
    depth, ends, repeatable, line = 0, True, False, 1
    for match in _tokenize(text):
        kind, can_repeat = match.lastgroup, False
        if kind == "space":
            continue
        if kind == "line":
            line += 1
            # an alternative may continue after a line that ends with its sign
            ends = depth == 0 and bool(body) and body[-1] != "|" if body is not None else True
            continue
        if kind == "defines":
            if depth:
                raise BadGrammar(f"line {line} of the grammar: a bracket before it is not closed")
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
            body.append(_convert_repeat(match["repeat"], line))
        elif kind == "rule":
            used.add(match["rule"])
            body.append(f" {_rename(match['rule'])} ")
            can_repeat = True
        elif kind == "sign":
            depth += {"(": 1, ")": -1, "|": 0}[match["sign"]]
            if not 0 <= depth <= MAX_DEPTH:
                raise BadGrammar(f"line {line} of the grammar: unbalanced or too many brackets")
            _close_empty(body, match["sign"])
            body.append(match["sign"])
            can_repeat = match["sign"] == ")"
        else:
            body.append(_convert_terminal(match, line))
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
    lines = ["start: " + _rename("root")]
    for rule, body in rules.items():
        _close_empty(body, ")")
        lines.append(f"{_rename(rule)}: {''.join(body)}")
    return "\n".join(lines) + "\n"


def _close_empty(body: list[str], sign: str) -> None:
    """Write an empty alternative before *sign* as an empty string."""
    if sign in "|)" and (not body or body[-1] in ("|", "(")):
        body.append('""')


def _tokenize(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            line = 1 + len(re.findall(r"\r\n|\r|\n", text[:at]))
            raise BadGrammar(f"line {line} of the grammar is invalid")
        yield match
        at = match.end()


def _rename(rule: str) -> str:
    """A unique rule name: the dialect allows no hyphens and capitals here."""
    return "r_" + re.sub(r"[^a-z0-9]", lambda other: f"_{ord(other[0]):x}_", rule)


def _convert_repeat(sign: str, line: int) -> str:
    if sign in "*+?":
        return sign
    least, comma, most = sign[1:-1].replace(" ", "").replace("\t", "").partition(",")
    if max(int(least), int(most or 0)) > MAX_REPEATS:
        raise BadGrammar(f"line {line} of the grammar: at most {MAX_REPEATS} repetitions")
    return f"{{{least},{most if comma else least}}}"


def _convert_terminal(match: re.Match[str], line: int) -> str:
    if match["any"]:
        return "/(?s:.)/"
    if match["string"] is not None:
        letters = [_escape(letter) for _, letter in _pair_letters(match["string"], line)]
        return "(" + (" ".join(f"/{letter}/" for letter in letters) or '""') + ")"
    members = match["members"]
    if not members:
        raise BadGrammar(f"line {line} of the grammar: a set of characters is empty")
    return f"/[{match['negated'] or ''}{_convert_members(members, line)}]/"


def _convert_members(members: str, line: int) -> str:
    """Convert the inside of a set of characters, with its ranges."""
    letters = [(part[0], letter) for part, letter in _pair_letters(members, line)]
    out, at = [], 0
    while at < len(letters):
        low = high = letters[at][1]
        if at + 2 < len(letters) and letters[at + 1][0] == "-":
            high = letters[at + 2][1]
            at += 2
        if high < low:
            raise BadGrammar(f"line {line} of the grammar: a range of characters is reversed")
        out.append(_escape(low) if low == high else f"{_escape(low)}-{_escape(high)}")
        at += 1
    return "".join(out)


def _pair_letters(text: str, line: int) -> Iterator[tuple[str, str]]:
    """Yield each character as it is written and as it is meant."""
    for match in _LETTER.finditer(text):
        digits = match[1] or match[2] or match[3]
        if digits:
            number = int(digits, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise BadGrammar(f"line {line} of the grammar: a character does not exist")
            yield match[0], chr(number)
        elif match[4]:
            letter = _ESCAPES.get(match[4], match[4])
            if letter == match[4] and letter not in _LITERAL + "/'":
                raise BadGrammar(f"line {line} of the grammar: an escape is unknown")
            yield match[0], letter
        else:
            yield match[0], match[0]


def _escape(letter: str) -> str:
    """Write a character for a regular expression, inside a set or not."""
    return letter if letter.isalnum() and letter.isascii() else f"\\u{{{ord(letter):x}}}"
