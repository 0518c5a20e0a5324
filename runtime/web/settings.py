"""Settings of a server: one class gives the TOML file, the environment and the flags."""

import difflib
import math
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeVar, get_args, get_origin

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.annotated_handlers import GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema
from pydantic_settings import (
    BaseSettings,
    CliSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as CliError

FILE_LIMIT: Final = 256 * 1024
Tree = dict[str, Any]


class BadSettings(Exception):
    """The settings are invalid; the message is one line with the key and its source."""


@dataclass(frozen=True, slots=True)
class Clamp:
    """Moves a number to the nearer bound instead of refusing it; *also* lists further valid values.

    For example ``timeout_ms: Annotated[int, Clamp(5000, 600000)] = 120000``.
    """

    low: float
    high: float
    also: tuple[float, ...] = ()

    def pull(self, value: float) -> float:
        """Return *value* or the nearer bound; raises ValueError for infinity and NaN."""
        if not -math.inf < value < math.inf:
            raise ValueError("must be a finite number")
        if value in self.also:
            return value
        return type(value)(min(max(value, self.low), self.high))

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.pull, handler(source))


class Settings(BaseSettings):
    """Base class of a server's settings; a subclass adds fields and its ``env_prefix``.

    Precedence, lowest first: default, TOML file, environment, flag. Fields that are models are
    tables in the file; they nest with a dot in flags and a double underscore in the environment.
    `SecretStr` fields have no flag, since others can read a command line.
    """

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False
    )

    config: Path | None = Field(None, description="TOML file with settings")
    _notes: tuple[str, ...] = PrivateAttr(())

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings for the log: values that were out of range."""
        return self._notes

    @classmethod
    def load(cls, argv: Sequence[str], environ: Mapping[str, str]) -> Self:
        """Load the settings; on an error, print one line to standard error and exit with code 2."""
        try:
            return read(cls, argv, environ)
        except BadSettings as exc:
            sys.stderr.write(f"{program_name(cls)}: {exc}\n")
            raise SystemExit(2) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the values passed in: `read` has already merged the sources."""
        return (init_settings,)


class _Flags(BaseSettings):
    """The base class of the model that defines the flags."""

    model_config = SettingsConfigDict(
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        cli_avoid_json=True,
        protected_namespaces=(),
    )


S = TypeVar("S", bound=Settings)


def program_name(cls: type[Settings]) -> str:
    """Return the prefix of messages: ``cli_prog_name``, or the name of the running script."""
    return cls.model_config.get("cli_prog_name") or Path(sys.argv[0]).name


def read(cls: type[S], argv: Sequence[str], environ: Mapping[str, str]) -> S:
    """Read the settings from flags, environment and the file that either names.

    Raises `BadSettings`; ``--help`` prints the flags and exits with code 0.
    """
    leaves = {leaf.path: leaf for leaf in _leaves(cls, ())}
    prefix = cls.model_config.get("env_prefix", "")
    layers = [_from_flags(cls, leaves, argv), _from_environment(leaves, prefix, environ)]
    named = next((layer["config",] for layer in layers if ("config",) in layer), None)
    if named is not None:
        layers.append(_from_file(cls, leaves, Path(str(named.value))))
    merged: Tree = {}
    notes: list[str] = []
    for path, leaf in leaves.items():
        entry = next((layer[path] for layer in layers if path in layer), None)
        if entry is not None:
            value, note = _validate(leaf, entry)
            _set(merged, path, value)
            notes.extend([note] if note else [])
    try:
        settings = cls(**merged)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "settings"
        raise BadSettings(f"{place}: {_reason(first['msg'])}") from exc
    settings._notes = tuple(notes)
    return settings


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A setting; *path* leads to it through the tables."""

    path: tuple[str, ...]
    field: FieldInfo

    @property
    def secret(self) -> bool:
        hint = self.field.annotation
        return hint is SecretStr or SecretStr in get_args(hint)

    @property
    def many(self) -> bool:
        return get_origin(self.field.annotation) in (list, tuple, set, frozenset)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A raw value; *origin* names where the user set it."""

    value: object
    origin: str
    typed: bool
    """Whether it has its own type (TOML), which must be the right one."""


_Layer = dict[tuple[str, ...], _Entry]


def _leaves(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[_Leaf]:
    for name, field in model.model_fields.items():
        hint = field.annotation
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            yield from _leaves(hint, (*path, name))
        else:
            yield _Leaf((*path, name), field)


def _from_flags(
    cls: type[Settings], leaves: Mapping[tuple[str, ...], _Leaf], argv: Sequence[str]
) -> _Layer:
    _refuse_secret_flags(cls, leaves, argv)
    try:
        source: CliSettingsSource[Any] = CliSettingsSource(
            _without_secrets(cls, _Flags),  # type: ignore[arg-type] # a copy on that base
            cli_prog_name=program_name(cls),
            cli_parse_args=list(argv),
            cli_exit_on_error=False,
        )
        tree = source()
    except CliError as exc:
        text = str(exc).removeprefix("error parsing CLI: ")
        raise BadSettings(text.splitlines()[0]) from exc
    return {
        path: _Entry(value, _flag(path), typed=False)
        for path in leaves
        if (value := _get(tree, path)) is not None
    }


def _refuse_secret_flags(
    cls: type[Settings], leaves: Mapping[tuple[str, ...], _Leaf], argv: Sequence[str]
) -> None:
    # This runs first, because other messages about flags would repeat the value.
    flags = {word.partition("=")[0] for word in argv}
    prefix = cls.model_config.get("env_prefix", "")
    for path, leaf in leaves.items():
        if leaf.secret and (flag := _flag(path)) in flags:
            raise BadSettings(
                f"{flag}: a secret cannot be a flag; set {_variable(prefix, path)} or the file"
            )


def _flag(path: tuple[str, ...]) -> str:
    return "--" + ".".join(path).replace("_", "-")


def _variable(prefix: str, path: tuple[str, ...]) -> str:
    return (prefix + "__".join(path)).upper()


def _without_secrets(model: type[BaseModel], base: type[BaseModel]) -> type[BaseModel]:
    """Return a copy of *model* without its secret fields, which defines the flags."""
    kept: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        hint = field.annotation
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            kept[name] = (_without_secrets(hint, BaseModel), field)
        elif not _Leaf((name,), field).secret:
            kept[name] = (hint, field)
    return create_model(model.__name__, __base__=base, __doc__=model.__doc__, **kept)


def _from_environment(
    leaves: Mapping[tuple[str, ...], _Leaf], prefix: str, environ: Mapping[str, str]
) -> _Layer:
    names = {_variable(prefix, path): path for path in leaves}
    for name in environ:
        if prefix and name.upper().startswith(prefix.upper()) and name not in names:
            hint = _did_you_mean(name.upper(), list(names))
            raise BadSettings(f"{name} is not a setting of the environment{hint}")
    return {
        names[name]: _Entry(value, name, typed=False)
        for name, value in environ.items()
        if name in names
    }


def _from_file(cls: type[Settings], leaves: Mapping[tuple[str, ...], _Leaf], file: Path) -> _Layer:
    try:
        with file.open("rb") as stream:
            raw = stream.read(FILE_LIMIT + 1)
        if len(raw) > FILE_LIMIT:
            raise BadSettings(f"{file}: over {FILE_LIMIT} bytes, so this is not a settings file")
        tree = tomllib.loads(raw.decode("utf-8"))
    except OSError as exc:
        raise BadSettings(f"{file}: {exc.strerror or 'cannot be read'}") from exc
    except (ValueError, RecursionError) as exc:
        raise BadSettings(f"{file}: not valid TOML: {str(exc).splitlines()[0]}") from exc
    _refuse_unknown(cls, tree, file, ())
    return {
        path: _Entry(value, f"{file}: {'.'.join(path)}", typed=True)
        for path in leaves
        if (value := _get(tree, path)) is not None
    }


def _refuse_unknown(model: type[BaseModel], tree: Tree, file: Path, at: tuple[str, ...]) -> None:
    names = [name for name in model.model_fields if (*at, name) != ("config",)]
    for key, value in tree.items():
        place = ".".join((*at, key))
        if key not in names:
            hint = _did_you_mean(key, names, ".".join((*at, "")))
            raise BadSettings(f"{file}: {place} is not a setting{hint}")
        hint_type = model.model_fields[key].annotation
        if isinstance(hint_type, type) and issubclass(hint_type, BaseModel):
            if not isinstance(value, dict):
                raise BadSettings(f"{file}: {place}: must be a table")
            _refuse_unknown(hint_type, value, file, (*at, key))


def _did_you_mean(word: str, names: Sequence[str], before: str = "") -> str:
    near = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {before}{near[0]}?" if near else ""


def _validate(leaf: _Leaf, entry: _Entry) -> tuple[object, str | None]:
    """Return the typed value, and a note if it was out of range."""
    metadata = leaf.field.metadata
    clamp = next((m for m in metadata if isinstance(m, Clamp)), None)
    rest = [m for m in metadata if m is not clamp]
    hint: Any = Annotated[leaf.field.annotation, *rest] if rest else leaf.field.annotation
    adapter: TypeAdapter[Any] = TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False))
    try:
        if entry.typed:
            raw = orjson.dumps(entry.value, default=str)
            value = adapter.validate_json(raw, strict=True)
        else:
            value = adapter.validate_python(_split(leaf, entry.value))
    except (ValidationError, orjson.JSONEncodeError) as exc:
        if isinstance(exc, ValidationError):
            reason = exc.errors(include_url=False, include_input=False)[0]["msg"]
        else:
            reason = str(exc)
        raise BadSettings(f"{entry.origin}: {_reason(reason)}") from exc
    if clamp is not None and isinstance(value, int | float):
        pulled = clamp.pull(value)
        if pulled != value:
            return pulled, f"{entry.origin}: {value} is out of range, {pulled} is used"
    return value, None


def _split(leaf: _Leaf, value: object) -> object:
    """Parse a list written as text: JSON, or entries separated by commas."""
    if not leaf.many or not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return value
    return [part.strip() for part in text.split(",") if part.strip()]


def _get(tree: Mapping[str, Any], path: tuple[str, ...]) -> object:
    value: Any = tree
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _set(tree: Tree, path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _reason(message: str) -> str:
    text = message.removeprefix("Value error, ").splitlines()[0]
    return text[:1].lower() + text[1:]
