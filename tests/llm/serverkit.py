"""Starts language-model servers inside the test's own process, and reads what they answer."""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import gguf
import numpy as np
import psutil
from aiohttp import web
from yarl import URL

from runtime.llm.app import assemble, make_app
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.service import Service
from runtime.llm.settings import LlmSettings
from runtime.web.serve import run_app
from tests.llm import tinymodel
from tests.waiting import until

CHAT = "/v1/chat/completions"
KA = ": ka"
DONE = "[DONE]"
LONG_CONTEXT = 32_768
WORDS = [
    [b"red1 ", b"red2 ", b"red3"],
    [b"green1 ", b"green2 ", b"green3"],
    [b"bl\xc3", b"\xbce \xf0\x9f", b"\x8f\x81"],
    [b"gold1 ", b"gold2 ", b"gold3"],
]
"""What the model ``recall`` says to a text with ``<red>``, ``<green>``, ``<blue>``, ``<gold>``."""
REPLIES = {
    secret: b"".join(words).decode() for secret, words in zip(tinymodel.SECRETS, WORDS, strict=True)
}
STRICT = "{% if messages[-1].content == 'forbidden' %}{{ raise_exception('not that') }}{% endif %}"

Json = Any
"""Parsed JSON, whose shape is what a test is about."""
Text = str | Sequence[tuple[str, str]]


def write_models(folder: Path) -> Path:
    """The models of the tests, made in a moment.

    ``recall`` answers by heart and ends, ``endless`` never ends, ``noise`` says anything,
    ``strict`` refuses the text ``forbidden``, ``embed`` cannot chat.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tinymodel.write_recall(folder / "recall.gguf", WORDS)
    long = tinymodel.Shape(context=LONG_CONTEXT)
    tinymodel.write_recall(folder / "endless.gguf", WORDS, endless=True, shape=long)
    tinymodel.write_random(folder / "noise.gguf")
    strict = tinymodel.Shape(template=STRICT + tinymodel.CHATML)
    tinymodel.write_recall(folder / "strict.gguf", WORDS, shape=strict)
    write_embedder(folder / "embed.gguf")
    return folder


def write_embedder(path: Path) -> Path:
    """A GGUF file whose architecture cannot continue a text."""
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(["[CLS]", "[SEP]", "[UNK]", "a"])
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def error(self) -> Json:
        return self.json["error"]

    @property
    def said(self) -> str:
        """The text of a completion."""
        text = self.json["choices"][0]["message"]["content"]
        assert isinstance(text, str)
        return text

    @property
    def cached(self) -> int:
        """Tokens of the prompt that were not prefilled again."""
        tokens = self.json["usage"]["prompt_tokens_details"]["cached_tokens"]
        assert isinstance(tokens, int)
        return tokens


class Events:
    """The events of a stream, one after the other; each wait ends after 30 seconds."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.raw = b""
        self._rest = b""

    async def next(self) -> str:
        """The data of the next event, a comment as it is, or nothing at the end of the stream."""
        while b"\n\n" not in self._rest:
            async with asyncio.timeout(30):
                part = await self.response.content.readany()
            if not part:
                assert not self._rest, f"half an event: {self._rest!r}"
                return ""
            self.raw += part
            self._rest += part
        event, _, self._rest = self._rest.partition(b"\n\n")
        line = event.decode()
        assert "\n" not in line
        return line.removeprefix("data: ")

    async def data(self) -> str:
        """The data of the next event that is no comment."""
        while (event := await self.next()) == KA:
            pass
        return event

    async def piece(self) -> str:
        """The next text."""
        while True:
            choice = json.loads(await self.data())["choices"][0]
            assert "finish_reason" not in choice, "the reply is over"
            if "content" in choice["delta"]:
                text = choice["delta"]["content"]
                assert isinstance(text, str)
                return text

    async def rest(self) -> list[str]:
        """Every event that is left, comments included."""
        events = []
        while event := await self.next():
            events.append(event)
        return events


def chunks(events: Sequence[str]) -> list[Json]:
    """The JSON frames among *events*."""
    return [json.loads(event) for event in events if event not in (KA, DONE)]


def joined(events: Sequence[str]) -> str:
    """The text that the frames among *events* add up to."""
    choices = [choice for frame in chunks(events) for choice in frame["choices"]]
    return "".join(choice["delta"].get("content", "") for choice in choices)


def messages(text: Text) -> list[dict[str, str]]:
    """A user's text, or pairs of role and text, as the wire has them."""
    pairs = [("user", text)] if isinstance(text, str) else text
    return [{"role": role, "content": content} for role, content in pairs]


@dataclass
class Server:
    """A running server with a client of its own."""

    service: Service
    app: web.Application
    url: str
    http: aiohttp.ClientSession

    async def request(self, method: str, path: str | URL, **options: Any) -> Answer:
        """One request; *options* are those of aiohttp."""
        async with self.http.request(method, path, **options) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str | URL, **options: Any) -> Answer:
        return await self.request("GET", path, **options)

    async def ask(
        self,
        model: str | None,
        text: Text = "hi",
        *,
        headers: Mapping[str, str] | None = None,
        **fields: Json,
    ) -> Answer:
        """A blocking chat request, greedy unless *fields* say otherwise."""
        body = chat(model, text, **fields)
        return await self.request("POST", CHAT, json=body, headers=headers or {})

    @asynccontextmanager
    async def streaming(
        self,
        model: str | None,
        text: Text = "hi",
        *,
        headers: Mapping[str, str] | None = None,
        **fields: Json,
    ) -> AsyncIterator[Events]:
        """A chat stream; leaving it early hangs up."""
        body = chat(model, text, stream=True, **fields)
        async with self.http.post(CHAT, json=body, headers=headers or {}) as response:
            try:
                yield Events(response)
            finally:
                response.close()

    async def stream(self, model: str | None, text: Text = "hi", **fields: Json) -> list[str]:
        """Every event of a chat stream."""
        async with self.streaming(model, text, **fields) as events:
            assert events.response.status == 200
            return await events.rest()

    async def metrics(self) -> dict[str, float]:
        """Every sample of the exposition by its name and labels."""
        text = (await self.get("/metrics")).body.decode()
        lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def totals_add_up(self) -> bool:
        """Whether every admitted request is in exactly one state."""
        admission = self.service.admission
        totals, unfinished = admission.totals, admission.unfinished
        ended = totals.completed + totals.errored + totals.cancelled
        return totals.admitted == ended + len(unfinished)

    async def idle(self) -> None:
        """Wait until no request is left and every lane is free."""
        chats = self.service.chats
        lanes = (chats.local, chats.system)
        await until(
            lambda: not self.service.admission.unfinished and not any(x.holders for x in lanes)
        )


def chat(model: str | None, text: Text = "hi", **fields: Json) -> dict[str, Json]:
    """The body of a chat request."""
    body: dict[str, Json] = {"messages": messages(text), "temperature": 0, **fields}
    return body if model is None else {"model": model, **body}


def settings_for(data_dir: Path, models: Path, **changes: Json) -> LlmSettings:
    """Settings for a test: small, one thread, no system model; *changes* may leave the ranges."""
    defaults: dict[str, Json] = {
        "data_dir": data_dir,
        "models_dir": models,
        "threads": 1,
        "default_context": LONG_CONTEXT,
        "session_cache_bytes": 1 << 24,
        "keep_awake": False,
        "sysmodel": SysmodelSettings(provider="none"),
    }
    return LlmSettings().model_copy(update={**defaults, **changes})


def managed(path: Path, **changes: Json) -> SysmodelSettings:
    """A system model that is the file at *path*."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return SysmodelSettings(provider="managed_gguf", path=path, sha256=digest, **changes)


def declared(source: Path, **changes: Json) -> SysmodelSettings:
    """A system model that can be downloaded from *source*."""
    data = source.read_bytes()
    fields: Json = {
        "provider": "managed_gguf",
        "url": source.as_uri(),
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    return SysmodelSettings(**(fields | changes))


@asynccontextmanager
async def serving(settings: LlmSettings) -> AsyncIterator[Server]:
    """A server that has ended afterwards, engine processes included."""
    before = set(processes_below(os.getpid()))
    service = await asyncio.to_thread(assemble, settings)  # reads files, as a start may
    headers = {"User-Agent": "tester"}
    try:
        async with (
            run_app(make_app(service)) as running,
            aiohttp.ClientSession(running.url, headers=headers) as http,
        ):
            yield Server(service, running.app, running.url, http)
    finally:
        left = set(processes_below(os.getpid())) - before
        assert not left, f"processes left behind: {left}"


def processes_below(pid: int) -> list[int]:
    """The living processes that *pid* started, and those that they started."""
    try:
        found = psutil.Process(pid).children(recursive=True)
        return [child.pid for child in found if child.status() != psutil.STATUS_ZOMBIE]
    except psutil.NoSuchProcess:
        return []
