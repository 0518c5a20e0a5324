"""The settings of the system model: what they refuse, and which provider they describe."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from runtime.llm.models.system.file import ManagedFile
from runtime.llm.models.system.providers import build
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability, Provider, Status
from tests.llm.models.daemons import (
    answer,
    by_path,
    chat,
    collect,
    delta,
    scripted,
    sse,
    texts,
)
from tests.llm.models.system.played import Workshop

SHA = "a" * 64
MODEL = b"GGUF" * 100


def settings(**values: object) -> SysmodelSettings:
    return SysmodelSettings.model_validate(values)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"provider": "magic"}, "provider"),
        ({"providr": "none"}, "providr"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"context_tokens": 3}, "context_tokens"),
        ({"variants": {"stable/small": "x"}}, "variants"),
        ({"model": " "}, "model"),
        ({"foreground_policy": "always"}, "foreground_policy"),
        ({"url": "http://127.0.0.1/"}, "sysmodel.url has no effect"),
        ({"provider": "none", "path": "/m.gguf"}, "sysmodel.path has no effect"),
        ({"provider": "openai_http"}, "sysmodel.url is required"),
        (
            {"provider": "openai_http", "url": "http://10.0.0.1/v1"},
            "sysmodel.url is on another machine",
        ),
        ({"provider": "openai_http", "url": "nonsense"}, "sysmodel.url must be"),
        (
            {"provider": "ollama", "url": "http://ollama.example"},
            "sysmodel.url is on another machine",
        ),
        ({"provider": "ollama", "pull": True}, "sysmodel.model is required"),
        (
            {"provider": "openai_http", "url": "http://a.example", "allow_remote": True},
            "sysmodel.url must be https",
        ),
        ({"provider": "managed_gguf", "url": "https://a.example/m"}, "sysmodel.sha256 is required"),
        (
            {"provider": "managed_gguf", "url": "https://a.example/m", "sha256": SHA},
            "sysmodel.size is required",
        ),
        (
            {"provider": "managed_gguf", "url": "http://a.example/m", "sha256": SHA, "size": 1},
            "sysmodel.url must be an https",
        ),
        ({"provider": "managed_gguf", "sha256": "xyz"}, "sysmodel.sha256 must be"),
        ({"provider": "managed_gguf", "path": "m.gguf"}, "sysmodel.path must be an absolute path"),
        (
            {"provider": "managed_gguf", "path": "/m.gguf", "url": "https://a.example/m"},
            "mutually exclusive",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_their_key(
    values: dict[str, object], key: str
) -> None:
    with pytest.raises(ValidationError, match=key):
        settings(**values)


def test_a_secret_appears_nowhere() -> None:
    described = settings(provider="ollama", api_key="hush-hush")
    with pytest.raises(ValidationError) as refused:
        settings(provider="openai_http", api_key="hush-hush")

    assert "hush" not in f"{described!r} {described} {described.model_dump()} {refused.value}"


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    """A model file with its description, as the project ships one."""
    path = tmp_path / "shipped" / "coach.gguf"
    path.parent.mkdir()
    path.write_bytes(MODEL)
    card = {"sha256": hashlib.sha256(MODEL).hexdigest(), "size": len(MODEL), "context_tokens": 512}
    path.with_suffix(".json").write_text(json.dumps(card))
    return path


async def made(
    tmp_path: Path, bundled: Path, values: Mapping[str, object], shop: Workshop | None = None
) -> Provider:
    data, chosen = tmp_path / "data", settings(**values)
    return await asyncio.to_thread(build, chosen, data, shop or Workshop(), bundled=bundled)


async def checked(provider: Provider) -> Availability:
    """The state once no file is being checked."""
    while (state := await provider.probe()).reason == "verifying":
        pass  # each look waits for the check
    return state


async def first_state(provider: Provider) -> Availability:
    state = await checked(provider)
    await provider.close()
    return state


async def test_by_default_the_bundled_model_answers(tmp_path: Path, bundled: Path) -> None:
    shop = Workshop()
    provider = await made(tmp_path, bundled, {}, shop)

    assert provider.name == "managed_gguf"
    assert (await checked(provider)).code == Status.AVAILABLE
    assert texts(await collect(provider.generate(chat()))) == "Brake late."
    ((entry, _),) = shop.asked
    assert (entry.path, entry.declared.context_tokens) == (bundled, 512)
    await provider.close()


async def test_where_the_bundled_model_is_missing_there_is_none(tmp_path: Path) -> None:
    provider = await made(tmp_path, tmp_path / "none.gguf", {})

    assert provider.name == "none"
    assert await first_state(provider) == Availability(0, "not_configured")


@pytest.mark.parametrize("card", ["", "[]", "{}", '{"sha256": 5}', '{"sha256": "zz"}'])
async def test_a_bundled_model_without_a_readable_description_is_not_used(
    tmp_path: Path, bundled: Path, card: str
) -> None:
    put(bundled.with_suffix(".json"), card)

    provider = await made(tmp_path, bundled, {})

    assert await first_state(provider) == Availability(0, "model_card_unreadable")


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"provider": "none"}, "not_configured"), ({"enabled": False}, "disabled")],
)
async def test_the_system_model_can_be_switched_off(
    tmp_path: Path, bundled: Path, values: dict[str, object], reason: str
) -> None:
    assert await first_state(await made(tmp_path, bundled, values)) == Availability(0, reason)


async def test_a_file_by_path_needs_a_checksum_from_somewhere(
    tmp_path: Path, bundled: Path
) -> None:
    copy = tmp_path / "copy.gguf"
    put(copy, MODEL.decode())
    named = {"provider": "managed_gguf", "path": str(copy)}
    with pytest.raises(ValueError, match=r"sysmodel\.sha256 is required"):
        await made(tmp_path, bundled, named)
    sha256 = hashlib.sha256(MODEL).hexdigest().upper()

    provider = await made(tmp_path, bundled, {"sha256": sha256, **named})

    assert (await first_state(provider)).code == Status.AVAILABLE
    assert isinstance(provider, ManagedFile)
    assert provider._declared.context_tokens == 2048


async def test_a_download_lands_in_the_data_folder_under_its_checksum(
    tmp_path: Path, bundled: Path
) -> None:
    sha256 = hashlib.sha256(MODEL).hexdigest()
    provider = await made(
        tmp_path,
        bundled,
        {
            "provider": "managed_gguf",
            "url": bundled.as_uri(),
            "sha256": sha256,
            "size": len(MODEL),
            "context_tokens": 256,
            "share_cpu_lane": True,
        },
    )
    assert await provider.probe() == Availability(2)
    await provider.download()
    assert isinstance(provider, ManagedFile)
    assert provider._download is not None
    await asyncio.wait({provider._download})
    assert await first_state(provider) == Availability(3)

    assert read(tmp_path / "data" / "sysmodel" / f"{sha256}.gguf") == MODEL
    assert provider._declared.context_tokens == 256


async def test_a_daemon_is_spoken_to_as_the_settings_say(tmp_path: Path, bundled: Path) -> None:
    models = answer({"data": [{"id": "coach"}]})
    async with scripted(by_path(models=models, completions=sse(delta("ok")))) as daemon:
        provider = await made(
            tmp_path,
            bundled,
            {
                "provider": "openai_http",
                "url": f"{daemon.address}/v1",
                "model": "coach",
                "api_key": "hush",
                "max_concurrency": 3,
                "context_tokens": 4096,
            },
        )
        assert await collect(provider.generate(chat())) == ["ok"]
        await provider.close()

    assert daemon.asked[0].headers["authorization"] == "Bearer hush"
    assert provider.max_concurrency == 3


async def test_ollama_pulls_only_when_permitted_and_online(tmp_path: Path, bundled: Path) -> None:
    async with scripted(by_path(tags=answer({"models": []}))) as daemon:
        common = {"provider": "ollama", "url": daemon.address, "model": "coach", "pull": True}
        online = await first_state(await made(tmp_path, bundled, common))
        offline = await first_state(await made(tmp_path, bundled, {**common, "offline": True}))

    assert (online.code, offline.code) == (Status.DOWNLOADABLE, Status.UNAVAILABLE)
    assert {asked.path for asked in daemon.asked} == {"/api/tags", "/api/ps"}


def put(path: Path, text: str) -> None:
    path.write_text(text)


def read(path: Path) -> bytes:
    return path.read_bytes()
