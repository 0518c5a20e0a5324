"""The command as a person uses it: which folder, which help, what Ctrl-C does."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from runtime.llm.commands.pull.command import NAMED, main
from runtime.llm.models.catalog import scan
from tests.llm.commands.pull.pullkit import Puller
from tests.llm.models.daemons import scripted
from tests.llm.models.download.origin import MODEL, SHA, Origin
from tests.llm.tinymodel import write_random


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random(tmp_path_factory.mktemp("source") / "tiny.gguf")


def parts(models: Path) -> list[Path]:
    """Downloads that were not finished."""
    return list((models / ".pull").glob("*.part"))


async def program(root: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    """``python -m runtime.llm`` in a process of its own: exit code, output, errors."""
    process = await start(root, *words, **environ)
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def start(root: Path, *words: str, **environ: str) -> asyncio.subprocess.Process:
    own = {name: value for name, value in os.environ.items() if not name.startswith("LLMSVC_")}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "runtime.llm", *words),
        cwd=root,
        env={**own, **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("way", ["flag", "data", "environment", "file"])
def test_the_folder_is_the_one_of_the_server(
    pull: Puller, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    models = tmp_path / "data" / "models"
    flags: list[str] = []
    match way:
        case "flag":
            flags = ["--models-dir", str(models)]
        case "data":
            flags = ["--data-dir", str(tmp_path / "data")]
        case "environment":
            monkeypatch.setenv("LLMSVC_MODELS_DIR", str(models))
        case "file":
            settings = tmp_path / "settings.toml"
            settings.write_text(f'models_dir = "{models}"\nthreads = 2\n')
            flags = ["--config", str(settings)]

    assert main([*flags, str(source)]) == 0
    assert (models / "tiny.gguf").exists()


async def test_settings_that_cannot_be_used_are_told(root: Path, source: Path) -> None:
    status, _, err = await program(root, "pull", str(source), LLMSVC_THREADS="many")

    assert status == 2
    assert "LLMSVC_THREADS" in err


def test_the_help_explains_with_examples(pull: Puller) -> None:
    said = pull.run("--help")

    assert said.status == 0
    assert said.out.count("python -m runtime.llm pull ") >= 2
    assert all(name in said.out for name in NAMED)


async def test_the_help_of_the_server_names_the_commands(root: Path) -> None:
    status, out, _ = await program(root, "--help")

    assert status == 0
    assert "python -m runtime.llm pull" in out
    assert "--models-dir" in out


@pytest.mark.slow
async def test_an_interrupted_download_ends_in_one_line_and_goes_on_later(
    root: Path, tmp_path: Path
) -> None:
    data = MODEL * 3
    origin = Origin(data)
    origin.cut_at, origin.stall = len(data) - 1, True
    async with scripted(origin) as server:
        words = ["pull", f"{server.address}/m.gguf", "--sha256", SHA, "--models-dir", str(tmp_path)]
        process = await start(root, *words)
        while not any(path.stat().st_size for path in parts(tmp_path)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()

    assert process.returncode == 130
    assert err.decode() == "pull: interrupted; downloaded data is kept\n"
    assert scan(tmp_path)[0] == []
    assert [path.stat().st_size >= len(MODEL) for path in parts(tmp_path)] == [True]
