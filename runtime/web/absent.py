"""Optional fields of answers that are left out when there is nothing to say."""

from typing import Any

from pydantic import Field


def nothing(value: object) -> bool:
    """Whether a field has no value."""
    return value is None


def absent(description: str = "") -> Any:
    """A field that is left out of the answer while it is None."""
    return Field(None, description=description or None, exclude_if=nothing)
