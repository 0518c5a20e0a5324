"""What stands in for a source with mistakes while its author looks at the site.

Only `serve` asks: the keys of a source that are right are kept, and a text of the skeletons, which
says TODO, is in the place of each other one.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final

from course import yamlsource
from course.read import schema

SKELETONS: Final = Path(__file__).resolve().parents[1] / "skeletons"
_NOBODY: Final = "nobody"  # an id that no source has: what refers to it is left out


def complete(kind: str, data: Any, name: str) -> dict[str, Any] | None:
    """Valid data of *kind* with as much of *data* as is right; None for kinds without skeleton.

    *name* is the id that the folder or file of the source bears.
    """
    kept = schema.select_sound_keys(kind, data)
    planned = kept.get("status") == "planned" and kind in ("lesson", "project")
    base = _skeleton(f"{kind}-planned" if planned else kind, name)
    if base is None:
        return None
    for candidate in (base | kept, base):
        if schema.compile_validator(kind).is_valid(candidate):
            return candidate
    return None


def _skeleton(name: str, identity: str) -> dict[str, Any] | None:
    path = _path(name)
    if path is None:
        return None
    words = dict.fromkeys(("part", "phase", "pathway", "lesson", "first"), _NOBODY)
    words |= {"quoted": "TODO", "lang": "en", "updated": "2000-01-01"}
    title = identity.replace("-", " ").capitalize()
    text = Template(_front(path)).safe_substitute(words, id=identity, title=title)
    data: dict[str, Any] | None = yamlsource.parse(text, path.name)[0]
    return data


@cache
def _path(name: str) -> Path | None:
    places = (f"{name}.md", f"{name}.yaml", f"init/content/{name}.yaml")
    return next((path for path in map(SKELETONS.joinpath, places) if path.is_file()), None)


@cache
def _front(path: Path) -> str:
    """The YAML of a skeleton: all of it, or the front matter."""
    text = path.read_text("utf-8")
    return text.split("---\n")[1] if path.suffix == ".md" else text
