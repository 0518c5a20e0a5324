"""Generated files are fresh, and what the project says about the server's routes is true."""

import json
from pathlib import Path

import pytest

from runtime.llm import generate


def test_generated_files_are_fresh() -> None:
    for path, text in generate.files().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: run python -m runtime.llm.generate"
        )


def test_a_stale_file_fails_the_check_and_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "OPENAPI", tmp_path / "schemas" / "openapi.json")
    monkeypatch.setattr(generate, "SETTINGS", tmp_path / "settings.md")

    assert generate.main(["--check"]) == 1
    assert "settings.md is stale" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


def test_routes_that_lessons_may_name_exist(root: Path) -> None:
    paths = json.loads(generate.files()[generate.OPENAPI])["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    lines = (root / "content" / "interfaces.txt").read_text(encoding="utf-8").splitlines()
    named = {line.removeprefix("llm ") for line in lines if line.startswith("llm ")}
    assert not named - served


def test_a_request_that_was_cancelled_is_described() -> None:
    paths = json.loads(generate.files()[generate.OPENAPI])["paths"]
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses"):
        assert "409" in paths[path]["post"]["responses"]


def test_every_setting_is_explained() -> None:
    rows = generate.files()[generate.SETTINGS].splitlines()[14:]
    assert rows
    assert not [row for row in rows if row.endswith("|  |")]
