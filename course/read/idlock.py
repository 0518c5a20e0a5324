"""Write ids.lock: new ids are added, published ones stay for ever."""

from __future__ import annotations

import os

from course.check.linkcheck.identity import current
from course.options import Options
from course.pipeline import linked
from course.publish.tree import Refusal
from course.read.ids import LOCK_FILE, write_lock


def accept(options: Options) -> str:
    """Add the ids of the present course to ``content/ids.lock``; says what it did.

    Raises :class:`Refusal` when the sources have errors or the lock file is damaged: a lock made
    from half a course would promise the wrong thing.
    """
    sources, graph = linked(options)
    broken = [one for one in sources.diagnostics if one.severity == "error"]
    if broken:
        first = min(broken, key=lambda one: (one.file, one.line))
        raise Refusal(
            "CFG010",
            f"ids are accepted only from a course without errors: {first.file}:{first.line} "
            f"{first.code} {first.message}",
            "run: python build.py check",
        )
    known = {name: (locked.kind, locked.status) for name, locked in sources.lock.items()}
    before = dict(known)
    known.update(current(graph))
    text = write_lock(known)
    path = options.root / LOCK_FILE
    beside = path.with_suffix(".lock.new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    os.replace(beside, path)
    added = sorted(set(known) - set(before))
    updated = sorted(name for name in before if known[name] != before[name])
    if not added and not updated:
        return f"{LOCK_FILE}: nothing to add, {len(known)} ids"
    parts = [f"{len(added)} added" if added else "", f"{len(updated)} updated" if updated else ""]
    return f"{LOCK_FILE}: {', '.join(part for part in parts if part)}, {len(known)} ids"
