"""Compare what users see with an earlier commit: both OpenAPI documents and the built site.

    python -m tools.compare REVISION

Descriptions are left out of the comparison of the interfaces; the files of the site are compared
byte for byte. The exit status is 1 when anything differs.
"""

import argparse
import filecmp
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SERVERS: Final = ("llm", "bridge")
PROSE: Final = frozenset({"description", "summary"})
MISSING: Final = object()


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Yield each place where two JSON documents differ, except for prose."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            # A property may be called "description"; prose is text.
            texts = (old.get(key, ""), new.get(key, ""))
            if key in PROSE and all(isinstance(text, str) for text in texts):
                continue
            yield from differences(old.get(key, MISSING), new.get(key, MISSING), f"{at}/{key}")
    elif at.endswith("/required") and isinstance(old, list) and isinstance(new, list):
        yield from differences(dict.fromkeys(old), dict.fromkeys(new), at)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{at}/{number}")
    elif old is MISSING:
        yield f"added    {at}"
    elif new is MISSING:
        yield f"removed  {at}"
    elif old != new:
        yield f"changed  {at}: {_brief(old)} -> {_brief(new)}"


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 70 else text[:67] + "..."


def compare_interfaces(before: Path) -> list[str]:
    """Yield the differences of both OpenAPI documents."""
    changes = []
    for server in SERVERS:
        name = f"schemas/{server}/openapi.json"
        old, new = (json.loads((tree / name).read_bytes()) for tree in (before, ROOT))
        changes += [f"{server}: {line}" for line in differences(old, new)]
    return changes


def compare_sites(before: Path, scratch: Path) -> list[str]:
    """Yield the differences of the sites that both trees build."""
    sites: list[Path] = []
    for tree in (before, ROOT):
        out = scratch / f"site-{len(sites)}"
        subprocess.run(
            [sys.executable, "build.py", "build", "--out", str(out), "--no-cache"],
            cwd=tree,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        sites.append(out)
    old, new = ({str(path.relative_to(site)) for path in _files(site)} for site in sites)
    same = sorted(old & new)
    print(f"site: {len(old)} files before, {len(new)} now")
    _, changed, unread = filecmp.cmpfiles(sites[0], sites[1], same, shallow=False)
    return [
        *(f"site: removed  {name}" for name in sorted(old - new)),
        *(f"site: added    {name}" for name in sorted(new - old)),
        *(f"site: changed  {name}" for name in changed + unread),
    ]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Check the revision out beside this tree, compare, and print what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("revision", help="the commit to compare with")
    revision = parser.parse_args().revision
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        before = scratch / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", str(before), revision], check=True)
        try:
            changes = compare_interfaces(before) + compare_sites(before, scratch)
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
    print(*changes, sep="\n" if changes else "")
    print(f"{len(changes)} differences from {revision}")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
