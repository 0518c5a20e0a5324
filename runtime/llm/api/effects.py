"""Which fields of a request have an effect here, and which are only accepted."""

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
_NAMED: Final = 64
"""Fields that a header names at most."""
_NAME: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""Names that may stand in a header."""


@dataclass
class Effects:
    """What the server honors, and the fields of one request that have no effect."""

    honored: Collection[Feature]
    ignored: dict[str, None] = field(default_factory=dict)
    """Names in the order of the request's model."""

    def ignore(self, name: str) -> None:
        """Note that the client gave a field that has no effect."""
        if len(self.ignored) < _NAMED and _NAME.fullmatch(name):
            self.ignored[name] = None


EFFECTS: Final = web.RequestKey("effects", Effects)


def effects_of(settings: LlmSettings) -> Effects:
    """What a server with these settings honors, for a request that is not read yet."""
    features: tuple[Feature, ...] = get_args(Feature)
    return Effects([feature for feature in features if settings.honors(feature)])


def watch_effects(request: web.Request) -> Effects:
    """The effects of a request, kept with it for the header of its answer."""
    request[EFFECTS] = effects = effects_of(request.app[SERVICE].settings)
    return effects


@dataclass(frozen=True)
class Under:
    """Marks a field that counts only where *feature* is honored.

    Elsewhere any value is accepted, has no effect and is read as None; its name is noted unless
    the value asks for nothing: an empty one, or *usual*.
    """

    feature: Feature
    usual: object = None
    checked: bool = False
    """Whether a wrong value is refused all the same."""

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
    """A request whose unknown fields are accepted without effect, and noted unless empty."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _unknown_are_noted(self, info: ValidationInfo) -> Self:
        effects: Effects | None = info.context
        if effects is not None:
            for name, value in (self.model_extra or {}).items():
                if value:
                    effects.ignore(name)
        return self
