"""The base class of all request and response models."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Wire(BaseModel):
    """A request or response body: unknown fields are ignored, NaN and infinity are refused.

    Types are strict: ``"1"`` is not a number. ``Field(strict=False)`` relaxes a field.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
        strict=True,
        protected_namespaces=(),
        defer_build=True,  # until first use, which halves the start-up time
    )


def needs(*names: str, alone: bool = False) -> dict[str, Any]:
    """Return a JSON Schema rule that requires one of *names*, not null; *alone*: exactly one."""
    there = {"not": {"type": "null"}}
    cases = [{"required": [name], "properties": {name: there}} for name in names]
    return {"oneOf" if alone else "anyOf": cases}


def absent(description: str = "") -> Any:
    """An optional field that is omitted from the response if it is None."""
    return Field(None, description=description or None, exclude_if=_is_none)


def _is_none(value: object) -> bool:
    return value is None


class Plain(Wire):
    """A large body: its fields are `Any` or texts, so parsed values are not copied."""
