"""Writes the files generated from a server's code, or reports stale ones."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from runtime.web.settings import Clamp

ROOT: Final = Path(__file__).resolve().parents[2]
COLUMNS: Final = """
| Key | Type | Default | Range | What it does |
|---|---|---|---|---|
"""


def settings_table(model: type[BaseModel]) -> str:
    """A Markdown table with a row for each setting."""
    rows = "".join(f"| {' | '.join(row)} |\n" for row in setting_rows(model, ""))
    return COLUMNS + rows


def setting_rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for each setting: key, type, default, range, description."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from setting_rows(kind, f"{prefix}{name}.")
        else:
            yield f"`{prefix}{name}`", _kind(kind), _default(field), _range(field), _words(field)


def _kind(kind: object) -> str:
    literals = [repr(value).strip("'") for value in get_args(kind) if isinstance(value, str)]
    if literals:
        return ", ".join(literals)
    names = [part.__name__ for part in (get_args(kind) or (kind,)) if isinstance(part, type)]
    named = " or ".join(name for name in names if name != "NoneType")
    return {"SecretStr": "secret", "str": "text", "Path": "path"}.get(named, named or "table")


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.default_factory is not None:
        return "of the system"
    if value is None or value == [] or isinstance(value, SecretStr):
        return ""
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        return f"`{value.relative_to(ROOT)}` of the project"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _range(field: FieldInfo) -> str:
    for rule in field.metadata:
        if isinstance(rule, Clamp):
            extra = "".join(f", {value:g}" for value in rule.also)
            return f"{rule.low:.14g} to {rule.high:.14g}{extra}"
    return ""


def _words(field: FieldInfo) -> str:
    return (field.description or "").replace("|", "\\|")


def refresh(files: Callable[[], Mapping[Path, str]], argv: Sequence[str], command: str) -> int:
    """Write *files*, or with ``--check`` report stale ones; return the exit code."""
    wanted = files()
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    check = "--check" in argv
    for path in stale:
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
        if check:
            sys.stdout.write(f"{shown} is stale: {command}\n")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
        sys.stdout.write(f"wrote {shown}\n")
    return 1 if stale and check else 0
