"""What changed between two builds, in the order in which to upload it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course.deploylist import run


def manifest(path: Path, files: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    entries = [{"path": name, "bytes": 1, "sha256": digit * 64} for name, digit in files.items()]
    path.write_text(json.dumps({"schemaVersion": 1, "files": entries}))
    return path


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            {"index.html": "1", "gone.json": "1", "same.json": "1"},
            {"index.html": "2", "same.json": "1", "api/x.json": "1", "assets/x.css": "1"},
            ["assets/x.css", "api/x.json", "index.html", "build-manifest.json", "-gone.json"],
        ),
        ({"index.html": "1"}, {"index.html": "1"}, []),
    ],
)
def test_assets_come_first_and_pages_and_the_manifest_last(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: dict[str, str],
    new: dict[str, str],
    lines: list[str],
) -> None:
    since = manifest(tmp_path / "old.json", old)
    manifest(tmp_path / "site" / "build-manifest.json", new)
    assert run(tmp_path / "site", since) == 0
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a build manifest"),
        ("{}", "is not a build manifest"),
        ('{"schemaVersion": 1, "files": [1]}', "is not a build manifest"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_manifest_is_named(
    tmp_path: Path, text: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = manifest(tmp_path / "site" / "build-manifest.json", {"index.html": "1"})
    if text is not None:
        (tmp_path / "old.json").write_text(text)
    assert run(good.parent, tmp_path / "old.json") == 2
    assert f"old.json {why}" in capsys.readouterr().err
