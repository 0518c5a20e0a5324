"""What changed between two builds, in the order in which to upload it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course.deploylist import ManifestError, deploy_list, run


def manifest(path: Path, files: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    entries = [{"path": name, "bytes": 1, "sha256": digest} for name, digest in files.items()]
    path.write_text(json.dumps({"schemaVersion": 1, "files": entries}))
    return path


def test_assets_come_first_and_pages_and_the_manifest_last(tmp_path: Path) -> None:
    old = manifest(tmp_path / "old.json", {"index.html": "1", "gone.json": "1", "same.json": "1"})
    new = {"index.html": "2", "same.json": "1", "api/v1/catalog.json": "1", "assets/x.css": "1"}
    manifest(tmp_path / "site" / "build-manifest.json", new)
    assert deploy_list(tmp_path / "site", old) == [
        "assets/x.css",
        "api/v1/catalog.json",
        "index.html",
        "build-manifest.json",
        "-gone.json",
    ]


def test_equal_builds_need_no_upload(tmp_path: Path) -> None:
    same = manifest(tmp_path / "site" / "build-manifest.json", {"index.html": "1"})
    assert deploy_list(tmp_path / "site", same) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": [1]}', '{"files": [{"path": "x"}]}'])
def test_what_is_no_manifest_is_named(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = manifest(tmp_path / "site" / "build-manifest.json", {"index.html": "1"})
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(ManifestError, match=r"old\.json is not a build manifest"):
        deploy_list(good.parent, tmp_path / "old.json")
    assert run(good.parent, tmp_path / "old.json") == 2
    assert "old.json is not a build manifest" in capsys.readouterr().err


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"build-manifest\.json cannot be read"):
        deploy_list(tmp_path, tmp_path / "old.json")


def test_the_command_prints_a_line_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = manifest(tmp_path / "old.json", {})
    manifest(tmp_path / "site" / "build-manifest.json", {"a.html": "1"})
    assert run(tmp_path / "site", old) == 0
    assert capsys.readouterr().out == "a.html\nbuild-manifest.json\n"
