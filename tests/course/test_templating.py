"""Templates are compiled once for all builds, and a compiled one that does not fit is no harm."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment

from course.publish import templating

CONSTANTS = {"index": "index.html"}
VALUES = {"url": "x/", "canonical": "c", "root": "../", "title": "T", "old_id": "o"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(templating, "_COMPILED", tmp_path / "compiled")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "compiled"


def rendered() -> str:
    class Words:
        def __getattr__(self, name: str) -> str:
            return name

    words = {"w": Words(), "c": Words(), "asset": Words()}
    made = templating.environment({**CONSTANTS, **words}, {})
    return made.get_template("alias.html").render(VALUES)


def never(*_: object, **__: object) -> None:
    raise AssertionError("a template is compiled again")


def test_a_compiled_template_is_used_by_the_next_build(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rendered()
    assert [path.name.split(".")[0] for path in folder.iterdir()] == ["alias"]
    monkeypatch.setattr(Environment, "compile", never)
    assert rendered() == first


@pytest.mark.parametrize("keep", [0, 10, 30, 60, 300])
def test_a_damaged_one_is_made_anew(folder: Path, keep: int) -> None:
    first = rendered()
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    assert rendered() == first
    assert path.read_bytes() == whole


def test_one_of_another_source_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered()
    monkeypatch.setattr(templating, "_source", lambda _name: "other {{ title }}")
    assert rendered() == "other T"
    assert len(list(folder.iterdir())) == 1


def test_python_that_writes_no_bytecode_keeps_no_template(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    rendered()
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_no_harm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rendered()
    folder.with_name("file").write_text("")
    monkeypatch.setattr(templating, "_COMPILED", folder.with_name("file") / "below")
    assert rendered() == first
