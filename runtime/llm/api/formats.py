"""Formats that a reply must have: the field ``response_format``, or a grammar."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, StrictBool, StrictStr, Tag

from runtime.llm.grammar import (
    BadGrammar,
    close_object,
    convert_schema,
    make_object_grammar,
    translate_gbnf,
)
from runtime.web.errors import BadField
from runtime.web.wire import Wire

Schema = dict[str, object]
Grammar = Annotated[StrictStr, Field(min_length=1, max_length=64_000)]
"""GBNF with the rule ``root``."""


class TextFormat(Wire):
    """Any text."""

    type: Literal["text"]


class ObjectFormat(Wire):
    """Any JSON object."""

    type: Literal["json_object"]


class NamedSchema(Wire):
    """A JSON Schema with a name."""

    name: StrictStr | None = None
    description: StrictStr | None = None
    schema_: Schema = Field(alias="schema")
    strict: StrictBool | None = Field(
        None, description="has no effect: the schema is always enforced"
    )


class SchemaFormat(Wire):
    """JSON that matches a schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


class FlatSchemaFormat(NamedSchema):
    """JSON that matches a schema, in the shape of the Responses API."""

    type: Literal["json_schema"]


def _kind(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if kind in ("text", "json_object", "json_schema") else None


_WRONG = "must have type text, json_object or json_schema"
_Any = Annotated[TextFormat, Tag("text")] | Annotated[ObjectFormat, Tag("json_object")]
_choose = Discriminator(_kind, custom_error_type="format", custom_error_message=_WRONG)
ResponseFormat = Annotated[_Any | Annotated[SchemaFormat, Tag("json_schema")], _choose]
"""``response_format`` of a chat."""
TextOutput = Annotated[_Any | Annotated[FlatSchemaFormat, Tag("json_schema")], _choose]
"""``text.format`` of a response."""


def convert_format(form: ResponseFormat | TextOutput | None, field: str) -> str:
    """The grammar that enforces *form*; empty for any text.

    Raises `BadField`, which names *field*, for a schema that cannot be enforced.
    """
    if form is None or isinstance(form, TextFormat):
        return ""
    if isinstance(form, ObjectFormat):
        return make_object_grammar()
    named = form.json_schema if isinstance(form, SchemaFormat) else form
    try:
        return convert_schema(close_object(named.schema_))
    except BadGrammar as error:
        raise BadField(f"{field}: {error}", param=field) from error


def convert_gbnf(text: str | None) -> str:
    """The grammar in a client's GBNF text; empty for None. Raises `BadField`."""
    try:
        return translate_gbnf(text) if text else ""
    except BadGrammar as error:
        raise BadField(f"grammar: {error}", param="grammar") from error
