"""Adds a model's table to `catalog.toml` without touching what a user wrote there."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from runtime.llm.models.catalogfile import MAX_BYTES, NAME, CatalogText, Declaration, parse
from runtime.llm.models.pull.errors import PullFailed

Outcome = Literal["added", "there", "refused"]


def catalog_of(models: Path) -> CatalogText:
    """What the folder's catalog says now; an absent file says nothing. Raises `PullFailed`."""
    path = models / NAME
    try:
        if path.exists() and not path.is_file():
            return CatalogText(broken=f"{NAME}: not a plain file")
        return parse(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return CatalogText()
    except UnicodeDecodeError as problem:
        return CatalogText(broken=f"{NAME}: byte {problem.start} is not UTF-8")
    except OSError as problem:
        raise PullFailed(f"{path} cannot be read: {problem.strerror}") from None


def table(model: str, declared: Declaration) -> str:
    """The text of a model's table."""
    values: Mapping[str, str | int] = declared.model_dump(exclude_none=True)
    # The escapes of JSON are escapes of TOML, as long as nothing but ASCII comes out.
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    return "".join([f"[models.{json.dumps(model)}]\n", *lines])


def appended(text: str, model: str, declared: Declaration) -> str | None:
    """*text* with the table behind it; None where that would not say the same and this more."""
    ending = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else ending if text.endswith("\n") else ending * 2
    whole = text + gap + table(model, declared).replace("\n", ending)
    before, after = parse(text), parse(whole)
    wanted = {**before.models, model: declared}
    same = after.broken is None and after.models == wanted and after.faults == before.faults
    return whole if same and len(whole.encode()) <= MAX_BYTES else None


def declare(models: Path, model: str, declared: Declaration) -> Outcome:
    """Add the table, unless the model has one: that one stays, whatever it says.

    ``refused``: the file cannot be added to, and is as it was.
    """
    path = models / NAME
    try:
        said = catalog_of(models)
        if model in said.models or model in said.faults:
            return "there"
        if said.broken is not None:
            return "refused"
        raw = path.read_bytes() if path.exists() else b""
        whole = appended(raw.decode("utf-8"), model, declared)
        if whole is None or not _writable(path):
            return "refused"
        _append(path, whole.encode()[len(raw) :])
    except (OSError, UnicodeDecodeError, PullFailed):
        return "refused"
    return "added"


def _writable(path: Path) -> bool:
    """Whether the owner may write; an administrator's rights do not count."""
    return not path.exists() or bool(path.stat().st_mode & stat.S_IWUSR)


def _append(path: Path, data: bytes) -> None:
    """Add *data* in one write, or nothing: who reads meanwhile sees the old text or the new one."""
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError("the file could be written only in part")
            os.fsync(file.fileno())
        except OSError:
            file.truncate(before)
            raise
