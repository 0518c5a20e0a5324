"""Turns what a search may find into a condition in SQL; a pure function on plain values."""

import json
from typing import Final, NamedTuple

from runtime.llm.documents.values import Scalar, Where

Parameter = str | int | float
_INTEGERS: Final = range(-(1 << 63), 1 << 63)

# The last of several equal keys counts, as in a parser that keeps one value a key. An escaped NUL
# ends a string early in this reader of JSON, so such metadata equals nothing.
_HAS: Final = (
    "coalesce((SELECT {0} FROM json_each(first.metadata) AS entry WHERE entry.key = ?"
    " ORDER BY entry.id DESC LIMIT 1), 0)"
    " AND coalesce(instr(first.metadata, '\\u0000'), 0) = 0"
)


class Condition(NamedTuple):
    """A boolean expression on ``documents`` and ``first``, the row of a document's first chunk."""

    sql: str
    parameters: tuple[Parameter, ...]


def condition(where: Where) -> Condition:
    """What a document must meet; ``TRUE`` where all are eligible."""
    parts: list[str] = []
    parameters: list[Parameter] = []
    if where.document_ids is not None:
        parts.append("documents.name IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(where.document_ids)))
    for key, value in where.equal.items():
        part = _equal(key, value)
        parts.append(part.sql)
        parameters += part.parameters
    return Condition(" AND ".join(parts) or "TRUE", tuple(parameters))


def _equal(key: str, value: Scalar) -> Condition:
    """Equality of JSON: true is not 1, 1 is 1.0, and a key that is not there equals nothing."""
    match value:
        case None:
            return Condition(_HAS.format("entry.type = 'null'"), (key,))
        case bool():
            word = "true" if value else "false"
            return Condition(_HAS.format(f"entry.type = '{word}'"), (key,))
        case str():
            test = "entry.type = 'text' AND entry.value = ?"
            return Condition(_HAS.format(test), (value, key))
    if value != value:  # not a number: SQLite would take it for NULL
        return Condition("FALSE", ())
    number = value if isinstance(value, float) or value in _INTEGERS else _nearest(value)
    return Condition(
        _HAS.format("entry.type IN ('integer', 'real') AND entry.value = ?"), (number, key)
    )


def _nearest(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
