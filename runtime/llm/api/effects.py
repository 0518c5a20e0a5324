"""Track which fields of a request have an effect and which are ignored."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Self, get_args

from aiohttp import web
from pydantic import (
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from runtime.llm.service import SERVICE
from runtime.llm.settings import Feature, LlmSettings
from runtime.web.wire import Wire

HEADER: Final = "X-Ignored-Fields"
_MAX_NAMES: Final = 64
"""Maximum number of fields in a header."""
_NAME: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""Names that are safe in a header."""


@dataclass
class Effects:
    """The features that the server honors, and the ignored fields of a request."""

    honored: Collection[Feature]
    ignored: dict[str, None] = field(default_factory=dict)
    """Field names in the order of the request's model."""

    def ignore(self, name: str) -> None:
        """Record a field that has no effect."""
        if len(self.ignored) < _MAX_NAMES and _NAME.fullmatch(name):
            self.ignored[name] = None


EFFECTS: Final = web.RequestKey("effects", Effects)


def make_effects(settings: LlmSettings) -> Effects:
    """The features that *settings* honor, with no ignored fields yet."""
    features: tuple[Feature, ...] = get_args(Feature)
    return Effects([feature for feature in features if settings.honors(feature)])


def watch_effects(request: web.Request) -> Effects:
    """Attach a new `Effects` to the request, for the header of its answer."""
    request[EFFECTS] = effects = make_effects(request.app[SERVICE].settings)
    return effects


@dataclass(frozen=True)
class Under:
    """Marks a field that has an effect only if *feature* is honored.

    Otherwise any value is accepted and read as None; the field is recorded as ignored unless its
    value is empty or *usual*.
    """

    feature: Feature
    usual: object = None
    checked: bool = False
    """Whether an invalid value is rejected even then."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_wrap_validator_function(self._read, handler(source))

    def _read(
        self, value: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        effects: Effects | None = info.context
        honored = effects is None or self.feature in effects.honored
        read: object = validate(value) if honored or self.checked else None
        if effects is None or honored:
            return read
        if value and value != self.usual:
            effects.ignore(info.field_name or "")
        return None


class Watched(Wire):
    """A request whose unknown fields are accepted and recorded as ignored unless empty."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _unknown_are_noted(self, info: ValidationInfo) -> Self:
        effects: Effects | None = info.context
        if effects is not None:
            for name, value in (self.model_extra or {}).items():
                if value:
                    effects.ignore(name)
        return self
