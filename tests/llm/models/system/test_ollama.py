"""An Ollama daemon: tags, replies and downloads."""

import asyncio
import json

import pytest

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.models.system.ollama import Ollama, Pull, complete_tag
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability
from tests.llm.models.daemons import (
    Asked,
    Script,
    answer,
    by_path,
    chat,
    client,
    collect,
    delta,
    head,
    says,
    scripted,
    sse,
    texts,
)


def listed(*names: str) -> bytes:
    return answer({"models": [{"name": name, "model": name} for name in names]})


def ndjson(*lines: object) -> bytes:
    return head(kind="application/x-ndjson") + b"".join(
        json.dumps(line).encode() + b"\n" for line in lines
    )


def made(address: str, **settings: object) -> Ollama:
    chosen = {"provider": "ollama", "model": "coach", **settings}
    return Ollama(client(address), SysmodelSettings.model_validate(chosen))


@pytest.mark.parametrize(
    ("tag", "written"),
    [
        ("coach", "coach:latest"),
        ("coach:1b", "coach:1b"),
        ("hub.example:5000/me/coach", "hub.example:5000/me/coach:latest"),
    ],
)
def test_a_tag_without_a_version_means_the_latest(tag: str, written: str) -> None:
    assert complete_tag(tag) == written


@pytest.mark.parametrize(
    ("tags", "running", "model", "pull", "state"),
    [
        (["coach:latest"], [], "coach", False, Availability(3)),
        (["coach:1b"], [], "coach:1b", False, Availability(3)),
        (["coach:1b"], [], "coach", False, Availability(0, "model_not_listed")),
        (["coach:1b"], [], "coach", True, Availability(2)),
        ([], ["coach:latest"], "coach", True, Availability(3)),
        (["any:1b"], [], None, False, Availability(3)),
        (["any:1b", "b:1b"], [], None, False, Availability(0, "model_not_chosen")),
        ([], [], None, False, Availability(0, "no_model")),
    ],
)
async def test_the_tags_tell_the_state(
    tags: list[str], running: list[str], model: str | None, pull: bool, state: Availability
) -> None:
    async with scripted(by_path(tags=listed(*tags), ps=listed(*running))) as daemon:
        provider = made(daemon.address, model=model, pull=pull)
        assert await provider.probe() == state
        cells = await provider.probe_configs()
        await provider.close()

    assert cells["stable/fast"] == state
    assert cells["preview/fast"] == Availability(0, "not_configured")


@pytest.mark.parametrize("reply", [b"", answer({"models": 1}), answer({}, "403 Forbidden")])
async def test_the_state_of_a_daemon_that_is_down_is_unknown(reply: bytes) -> None:
    async with scripted(says(reply)) as daemon:
        provider = made(daemon.address)
        willing = made(daemon.address, pull=True)
        assert (await provider.probe()).error
        assert (await provider.probe_configs())["stable/fast"].error
        with pytest.raises(SysmodelUnavailable):
            await willing.download()
        await provider.close()
        await willing.close()


async def test_a_reply_comes_through_the_openai_interface() -> None:
    script = by_path(tags=listed("any:1b"), completions=sse(delta("Brake "), delta("late", "stop")))
    async with scripted(script) as daemon:
        provider = made(daemon.address, model=None)
        reply = provider.generate(chat("Hi", max_total=64))
        assert texts(await collect(reply)) == "Brake late"
        await provider.close()

    assert [asked.path for asked in daemon.asked] == ["/api/tags", "/v1/chat/completions"]
    body = daemon.asked[1].json
    assert (body["model"], body["max_tokens"], body["stream"]) == ("any:1b", 64, True)


async def test_the_progress_of_a_pull_is_the_sum_of_its_layers() -> None:
    lines: list[dict[str, object]] = [
        {"status": "pulling manifest"},
        {"status": "pulling a", "digest": "a", "total": 100},
        {"status": "pulling a", "digest": "a", "total": 100, "completed": 40},
        {"status": "pulling b", "digest": "b", "total": 50, "completed": 999},
        {"status": "verifying"},
        {"status": "success"},
    ]
    async with scripted(by_path(pull=ndjson(*lines))) as daemon:
        pull = Pull(client(daemon.address), "coach")
        await pull.wait()
        await pull._daemon.close()

    assert (pull.state.bytes_done, pull.state.bytes_total) == (90, 150)
    assert pull.failure is None


class Registry:
    """A daemon whose pull waits for a word between its lines."""

    def __init__(self, *lines: object) -> None:
        self.lines = lines
        self.tags: list[str] = []
        self.go_on = asyncio.Event()

    async def pull(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head(kind="application/x-ndjson"))
        for line in self.lines[:-1]:
            writer.write(json.dumps(line).encode() + b"\n")
        await writer.drain()
        await self.go_on.wait()
        self.tags.append("coach:latest")
        writer.write(json.dumps(self.lines[-1]).encode() + b"\n")

    def script(self) -> Script:
        async def tags(asked: Asked, writer: asyncio.StreamWriter) -> None:
            writer.write(listed(*self.tags))

        return by_path(tags=tags, ps=listed(), pull=self.pull)


LAYER = {"status": "pulling", "digest": "a", "total": 100, "completed": 25}


async def under_way(provider: Ollama, done: int) -> Availability:
    async with asyncio.timeout(30):
        while True:
            state = await provider.probe()
            if state.bytes_done == done:
                return state
            await asyncio.sleep(0)


async def ended(provider: Ollama) -> None:
    async with asyncio.timeout(30):
        assert provider._pull is not None
        await provider._pull.wait()


async def test_a_pull_goes_from_downloadable_over_downloading_to_available() -> None:
    registry = Registry({"status": "pulling manifest"}, LAYER, {"status": "success"})
    async with scripted(registry.script()) as daemon:
        provider = made(daemon.address, pull=True)
        before = await provider.probe()
        started = await provider.download()
        during = await under_way(provider, 25)
        joined = await provider.download()
        registry.go_on.set()
        await ended(provider)
        after = await provider.probe()
        again = await provider.download()
        await provider.close()

    assert (before.code, started.code, after.code, again.code) == (2, 1, 3, 3)
    assert during == joined == Availability(1, progress=0.25, bytes_done=25, bytes_total=100)
    assert sum(asked.path == "/api/pull" for asked in daemon.asked) == 1


async def test_a_failed_pull_is_downloadable_again_with_the_reason() -> None:
    registry = Registry(LAYER, {"error": "pull model manifest: file does not exist"})
    async with scripted(registry.script()) as daemon:
        provider = made(daemon.address, pull=True)
        await provider.download()
        registry.go_on.set()
        await ended(provider)
        registry.tags.clear()
        state = await provider.probe()
        await provider.close()

    assert state == Availability(2, "download_failed")


async def test_a_pull_that_breaks_off_has_failed() -> None:
    async with scripted(by_path(tags=listed(), ps=listed(), pull=ndjson(LAYER))) as daemon:
        provider = made(daemon.address, pull=True)
        await provider.download()
        await ended(provider)
        state = await provider.probe()
        await provider.close()

    assert state == Availability(2, "download_failed")


async def test_a_pull_that_repeats_itself_is_given_up() -> None:
    async def stuck(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        while True:
            writer.write(json.dumps(LAYER).encode() + b"\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with scripted(by_path(pull=stuck)) as daemon:
        pull = Pull(client(daemon.address), "coach", stall_s=0.1)
        await asyncio.wait_for(pull.wait(), 30)
        await pull._daemon.close()

    assert (pull.failure, pull.running) == ("stalled", False)


async def test_closing_stops_a_pull() -> None:
    registry = Registry(LAYER, {"status": "success"})
    async with scripted(registry.script()) as daemon:
        provider = made(daemon.address, pull=True)
        await provider.download()
        await under_way(provider, 25)
        await provider.close()
        await asyncio.wait_for(daemon.gone.wait(), 30)
