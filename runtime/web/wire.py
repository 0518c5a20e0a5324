"""The base of every model that crosses the wire."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Wire(BaseModel):
    """What crosses the wire: unknown fields are ignored, NaN and infinity never pass.

    Values are taken strictly: ``"1"`` is not a number. ``Field(strict=False)`` loosens one field.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
        strict=True,
        protected_namespaces=(),
        defer_build=True,  # until it is used: a server starts in half the time
    )


def needs(*names: str, alone: bool = False) -> dict[str, Any]:
    """What the JSON Schema of a model says where one of *names* must be given, and not as null.

    *alone*: only one of them.
    """
    there = {"not": {"type": "null"}}
    cases = [{"required": [name], "properties": {name: there}} for name in names]
    return {"oneOf" if alone else "anyOf": cases}


def absent(description: str = "") -> Any:
    """An optional field that is left out of the answer while it is None."""
    return Field(None, description=description or None, exclude_if=_is_none)


def _is_none(value: object) -> bool:
    return value is None


class Plain(Wire):
    """For large bodies: fields are `Any` and texts only; what was parsed is not copied."""
