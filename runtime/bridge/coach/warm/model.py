"""Asks a language model over HTTP, so that whatever it does every call ends soon."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict

import aiohttp

from runtime.bridge.coach.warm.lane import Lane, LaneFull
from runtime.bridge.coach.warm.promptlog import append, prompt_line
from runtime.bridge.coach.warm.wire import BadReply, EventReader, Piece, Said, models, whole_reply
from runtime.bridge.storage.coaching import ModelCall
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

Role: TypeAlias = Literal["brief", "cue", "debrief", "ask", "score"]
Mode: TypeAlias = Literal["pre_brief", "during_drive", "post_session"]
Reason: TypeAlias = Literal[
    "off", "busy", "model_unreachable", "timeout", "bad_reply", "empty", "too_long", "ungrounded"
]

CONNECT_S: Final = 2.0
FIRST_BYTE_SHARE: Final = 0.7
"""Of the whole time: so long may pass between two bytes, the first among them."""
PROBE_S: Final = 15.0
MOST_CHARS: Final = 6000
"""Of an answer; a model that babbles on is cut off."""
MOST_TOKENS: Final = 480
SMALL: Final = 100_000_000
"""A model of fewer parameters answers questions, but follows no long instruction."""
BYTES_A_CHAR: Final = 12
"""JSON may write one character so long."""
OVERHEAD: Final = 64 * 1024
MODELS_BYTES: Final = 1 << 20
AGENT: Final = "paddock-bridge"


class Message(TypedDict):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Endpoint(NamedTuple):
    """An OpenAI-compatible server; an empty *url* is none."""

    url: str
    model: str = ""
    """Empty: the first that it lists."""
    key: str = ""
    timeout_s: float = 30.0


class ModelState(NamedTuple):
    """What is known of the model server without asking it."""

    up: bool
    url: str | None
    model: str | None

    @property
    def transport(self) -> Literal["http", "none"]:
        """How it is reached."""
        return "http" if self.url else "none"


class ModelFailed(Exception):
    """No text came; *reason* goes into the figures, *detail* says more where there is more."""

    def __init__(self, reason: Reason, detail: str | None = None) -> None:
        super().__init__(detail or reason)
        self.reason: Reason = reason
        self.detail = detail


Record: TypeAlias = Callable[[ModelCall], Awaitable[None]]
"""Takes note of a call; what it raises is logged."""


@dataclass
class Call:
    """One call, on its way. Leaving the block of `ModelClient.call` takes note of it."""

    client: "ModelClient"
    messages: Sequence[Message]
    row: ModelCall
    timeout_s: float
    max_tokens: int
    max_chars: int
    deadline: float = math.inf
    """Of the loop's clock: waiting for the turn counts."""

    async def text(self) -> str:
        """The whole answer. Raises `ModelFailed`."""
        async with self._leaving():
            said = await self.client.fetch(self)
            self.said(said.text, truncated=said.truncated)
            if not said.text.strip():
                raise ModelFailed("empty")
            return said.text

    async def stream(self) -> AsyncIterator[str]:
        """The answer in pieces. Raises `ModelFailed`, behind pieces too; close it to cancel."""
        async with self._leaving():
            async for piece in self.client.pieces(self):
                self.said(piece.text, truncated=piece.truncated)
                if piece.text:
                    yield piece.text
            if not self.row.completion_chars:
                raise ModelFailed("empty")

    def said(self, text: str, *, truncated: bool) -> None:
        """Count what came."""
        chars = self.row.completion_chars + len(text)
        self.row = replace(self.row, completion_chars=chars, truncated=truncated)
        if chars > self.max_chars:
            raise ModelFailed("too_long")

    def fell_back(self, reason: Reason, detail: str | None = None) -> None:
        """The caller does without the model's text."""
        self.row = replace(self.row, fell_back=True, reason=reason, error=detail)

    def felt(self, emotion: str) -> None:
        """The mood of what the caller took."""
        self.row = replace(self.row, emotion=emotion)

    @asynccontextmanager
    async def _leaving(self) -> AsyncIterator[None]:
        """The turn, and whatever may go wrong in it as `ModelFailed`."""
        self.deadline = asyncio.get_running_loop().time() + self.timeout_s
        try:
            async with self.client.lane.turn(self.timeout_s):
                yield
        except LaneFull as full:
            raise ModelFailed("busy") from full
        except BadReply as problem:
            raise ModelFailed("bad_reply", str(problem)) from problem
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as problem:
            self.client.seen(up=False)
            raise ModelFailed("model_unreachable", type(problem).__name__) from problem
        except TimeoutError as late:
            raise ModelFailed("timeout") from late
        except (aiohttp.ClientError, ValueError, OSError) as problem:
            raise ModelFailed("bad_reply", type(problem).__name__) from problem


class ModelClient:
    """Calls to one model server: one at a time, a few waiting, the others refused at once.

    Nothing here raises but `ModelFailed`, and no call lasts longer than its time. *record* takes
    note of each call, of those too that never left. With *prompt_log* every prompt and answer is
    written there, a JSON object a line.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        record: Record,
        *,
        lane: Lane | None = None,
        prompt_log: Path | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.lane = lane or Lane()
        self._record = record
        self._prompt_log = prompt_log
        self._up = False
        self._listed = ""
        self._params: int | None = None
        self._http: aiohttp.ClientSession | None = None
        self._probing: asyncio.Task[None] | None = None
        self._noting: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> ModelState:
        """What the last probe or call found; costs nothing."""
        url = self.endpoint.url or None
        return ModelState(self._up, url, self._model or None)

    def start(self) -> None:
        """Begin to look, now and then, whether the server answers."""
        if self.endpoint.url:
            self._probing = asyncio.create_task(self._probe_for_ever())

    async def close(self) -> None:
        """End every connection; what is to be noted is noted."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])
        if self._noting:
            await asyncio.wait(self._noting)
        if self._http is not None:
            await self._http.close()

    @asynccontextmanager
    async def call(
        self,
        role: Role,
        mode: Mode,
        messages: Sequence[Message],
        *,
        session_id: str | None = None,
        timeout_s: float | None = None,
        max_tokens: int = MOST_TOKENS,
        max_chars: int = MOST_CHARS,
    ) -> AsyncIterator[Call]:
        """A call, of which note is taken when the block is left, however that happens.

        A `ModelFailed` that leaves the block goes on; caught inside it must be told to
        `Call.fell_back`.
        """
        row = ModelCall(
            role=role,
            mode=mode,
            ts=int(time.time() * 1000),
            session_id=session_id,
            backend="http" if self.endpoint.url else "none",
            prompt_chars=sum(len(message["content"]) for message in messages),
        )
        limit = self.endpoint.timeout_s if timeout_s is None else timeout_s
        made = Call(self, messages, row, limit, max_tokens, max_chars)
        began = time.monotonic()
        try:
            yield made
        except ModelFailed as failed:
            made.fell_back(failed.reason, failed.detail)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            made.row = replace(made.row, error="cancelled")
            raise
        finally:
            passed = (time.monotonic() - began) * 1000
            await self._note(replace(made.row, latency_ms=round(passed, 3)))

    async def fetch(self, call: Call) -> Said:
        """The answer in one."""
        limit = OVERHEAD + BYTES_A_CHAR * call.max_chars
        async with (
            asyncio.timeout_at(call.deadline),
            await self._post(call, stream=False) as response,
        ):
            body = await _read(response, limit)
        await self._log(call, body.decode("utf-8", "replace"))
        return whole_reply(body)

    async def pieces(self, call: Call) -> AsyncIterator[Piece]:
        """The answer as it comes."""
        reader, shown = EventReader(), []
        try:
            # The limit is on each wait for the server: the reader's own time must not be cut.
            async with asyncio.timeout_at(call.deadline):
                response = await self._post(call, stream=True)
            async with response:
                while chunk := await _more(response, call.deadline):
                    for piece in reader.feed(chunk):
                        if piece.last:
                            return
                        shown.append(piece.text)
                        yield piece
                raise BadReply("the stream ended before the answer did")
        finally:
            await self._log(call, "".join(shown))

    async def is_small(self) -> bool:
        """Whether the model is too small to follow instructions, as far as its server says."""
        if self.endpoint.url and not self._listed:
            await self.probe()
        return self._params is not None and self._params < SMALL

    def seen(self, *, up: bool) -> None:
        """Whether the server just answered."""
        self._up = up

    async def probe(self) -> bool:
        """Whether the server lists its models, and which comes first; 2 s at most."""
        try:
            async with (
                asyncio.timeout(CONNECT_S),
                self._session().get(
                    f"{_base(self.endpoint)}/models",
                    headers=_headers(self.endpoint),
                    allow_redirects=False,
                ) as response,
            ):
                listed = models(await _read(response, MODELS_BYTES))
                self._up = response.status == 200
                self._listed = listed[0].id if listed else ""
                self._params = next((one.params for one in listed if one.id == self._model), None)
        except (aiohttp.ClientError, BadReply, TimeoutError, ValueError, OSError, ModelFailed):
            self._up = False
        return self._up

    @property
    def _model(self) -> str:
        return self.endpoint.model or self._listed

    async def _post(self, call: Call, *, stream: bool) -> aiohttp.ClientResponse:
        if not self.endpoint.url:
            raise ModelFailed("off")
        if not self._model and not await self.probe():
            raise ModelFailed("model_unreachable")
        body: dict[str, object] = {
            "model": self._model,
            "messages": list(call.messages),
            "stream": stream,
            "temperature": 0.0,
            "max_completion_tokens": call.max_tokens,
        }
        response = await self._session().post(
            f"{_base(self.endpoint)}/chat/completions",
            json=body,
            headers=_headers(self.endpoint),
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=CONNECT_S,
                sock_read=max(FIRST_BYTE_SHARE * call.timeout_s, 0.05),
            ),
        )
        if response.status != 200:
            response.close()
            raise ModelFailed("bad_reply", f"status {response.status}")
        self._up = True
        return response

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            # A connection that was cut may not be used again, so none is kept.
            connector = aiohttp.TCPConnector(force_close=True)
            self._http = aiohttp.ClientSession(
                connector=connector, auto_decompress=False, trust_env=False
            )
        return self._http

    async def _probe_for_ever(self) -> None:
        while True:
            await self.probe()
            await asyncio.sleep(PROBE_S)

    async def _note(self, row: ModelCall) -> None:
        """Take note, even of a call that was cancelled, which must not wait."""
        task = asyncio.create_task(self._recorded(row))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)
        if row.error != "cancelled":
            await asyncio.shield(task)

    async def _recorded(self, row: ModelCall) -> None:
        try:
            await self._record(row)
        except ApiError as problem:  # figures are worth no failed answer
            log.warning("a call of the model was not noted: %s", problem)

    async def _log(self, call: Call, answer: str) -> None:
        if self._prompt_log is not None:
            row = call.row
            line = prompt_line(row.role, row.session_id, self._model, call.messages, answer)
            await asyncio.to_thread(append, self._prompt_log, line)


async def _more(response: aiohttp.ClientResponse, deadline: float) -> bytes:
    """The bytes that came next; none at the end."""
    async with asyncio.timeout_at(deadline):
        return await response.content.readany()


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body. Raises `ModelFailed` where it is longer than *limit* bytes."""
    parts, total = [], 0
    async for chunk in response.content.iter_any():
        total += len(chunk)
        if total > limit:
            raise ModelFailed("too_long")
        parts.append(chunk)
    return b"".join(parts)


def _base(endpoint: Endpoint) -> str:
    return endpoint.url.rstrip("/")


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    return headers
