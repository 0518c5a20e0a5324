"""Asks the language-model server over HTTP; every call ends soon, whatever the server does."""

import asyncio
import json
import logging
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict

import aiohttp
import numpy as np

from runtime.bridge.session.recording import Numbers
from runtime.bridge.storage.coaching import ModelCall
from runtime.bridge.storage.store import Store
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

Role: TypeAlias = Literal["brief", "cue", "debrief", "ask", "score"]
Mode: TypeAlias = Literal["pre_brief", "during_drive", "post_session"]
Reason: TypeAlias = Literal[
    "off",
    "too_small",
    "busy",
    "model_unreachable",
    "timeout",
    "bad_reply",
    "empty",
    "too_long",
    "ungrounded",
]

CONNECT_S: Final = 2.0
FIRST_BYTE_SHARE: Final = 0.7
"""Share of the whole time that may pass between two bytes, the first included."""
PROBE_S: Final = 15.0
EMBED_S: Final = 1.5
MOST_CHARS: Final = 6000
"""Characters of an answer; a longer one is cut off."""
MOST_TOKENS: Final = 480
CAPABLE: Final = 1_000_000_000
"""Parameters below which a model follows instructions too poorly."""
WAITING: Final = 4
"""Calls waiting for the current one; further ones are refused."""
BATCH: Final = 64
"""Texts per request for vectors."""
KEPT: Final = 4096
"""Vectors kept, by text."""
REPLY_BYTES: Final = 12 * MOST_CHARS + 64 * 1024
"""JSON may take 12 bytes for one character."""
LISTED_BYTES: Final = 1 << 20
VECTOR_BYTES: Final = 8 << 20
AGENT: Final = "paddock-bridge"


class Message(TypedDict):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Endpoint(NamedTuple):
    """An OpenAI-compatible server; none if *url* is empty."""

    url: str
    model: str = ""
    """Empty: the first one the server lists."""
    key: str = ""
    timeout_s: float = 30.0

    @property
    def base(self) -> str:
        """The address that paths are appended to."""
        return self.url.rstrip("/")

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        key = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {"User-Agent": AGENT, "Accept-Encoding": "identity", **key}


class ModelState(NamedTuple):
    """The model server's state, known without a request."""

    up: bool
    url: str | None
    model: str | None

    @property
    def transport(self) -> Literal["http", "none"]:
        """How it is reached."""
        return "http" if self.url else "none"


class ModelFailed(Exception):
    """No text came; *reason* is counted in the figures, *detail* may say more."""

    def __init__(self, reason: Reason, detail: str | None = None) -> None:
        super().__init__(detail or reason)
        self.reason: Reason = reason
        self.detail = detail


class LaneFull(Exception):
    """Too many calls are waiting, or the wait was too long."""


class Lane:
    """Admits one call at a time; up to `WAITING` more queue in order."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._inside = 0
        """Calls at work and waiting."""

    @asynccontextmanager
    async def turn(self, patience_s: float) -> AsyncIterator[None]:
        """Wait for the turn, at most *patience_s*. Raises `LaneFull`."""
        if self._inside > WAITING:
            raise LaneFull
        self._inside += 1
        try:
            try:
                async with asyncio.timeout(patience_s):
                    await self._lock.acquire()
            except TimeoutError as late:
                raise LaneFull from late
            try:
                yield
            finally:
                self._lock.release()
        finally:
            self._inside -= 1


class Listed(NamedTuple):
    """A model that a server offers."""

    id: str
    params: int | None
    """Number of parameters; None if the server does not say."""
    embeds: bool
    """Whether it makes vectors of texts, not text."""


Schema: TypeAlias = Mapping[str, object]


@dataclass
class Call:
    """A call in progress. Leaving the block of `ModelClient.call` records it."""

    client: "ModelClient"
    messages: Sequence[Message]
    row: ModelCall
    timeout_s: float
    max_tokens: int
    schema: Schema | None = None
    deadline: float = math.inf
    """On the loop's clock; waiting for the turn counts."""

    async def text(self) -> str:
        """Return the whole answer. Raises `ModelFailed`."""
        self.deadline = asyncio.get_running_loop().time() + self.timeout_s
        try:
            async with self.client.lane.turn(self.timeout_s), asyncio.timeout_at(self.deadline):
                text, truncated = await self.client.fetch(self)
        except LaneFull as full:
            raise ModelFailed("busy") from full
        except (aiohttp.ConnectionTimeoutError, aiohttp.ClientConnectorError) as problem:
            self.client.up = False
            raise ModelFailed("model_unreachable", type(problem).__name__) from problem
        except TimeoutError as late:
            raise ModelFailed("timeout") from late
        except (aiohttp.ClientError, ValueError, OSError) as problem:
            raise ModelFailed("bad_reply", type(problem).__name__) from problem
        self.row = replace(self.row, completion_chars=len(text), truncated=truncated)
        if len(text) > MOST_CHARS:
            raise ModelFailed("too_long")
        if not text.strip():
            raise ModelFailed("empty")
        return text

    def record_fallback(self, reason: Reason, detail: str | None = None) -> None:
        """Record that the caller does without the model's text."""
        self.row = replace(self.row, fell_back=True, reason=reason, error=detail)

    def record_emotion(self, emotion: str) -> None:
        """Record the mood of the text that the caller used."""
        self.row = replace(self.row, emotion=emotion)


class ModelClient:
    """Calls one model server: one call at a time, a few waiting, the others refused at once.

    Only `ModelFailed` is raised, and no call exceeds its time. Each call is recorded in *store*, if
    any, even one never sent. With *prompt_log* every prompt and answer is written there, one JSON
    object per line.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        store: Store | None,
        *,
        lane: Lane | None = None,
        prompt_log: Path | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.lane = lane or Lane()
        self.up = False
        """Whether the server answered the last request."""
        self._store = store
        self._prompt_log = prompt_log
        self._listed: tuple[Listed, ...] = ()
        self._vectors: OrderedDict[str, Numbers] = OrderedDict()
        self._http: aiohttp.ClientSession | None = None
        self._probing: asyncio.Task[None] | None = None
        self._noting: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> ModelState:
        """The result of the last probe or call; costs nothing."""
        return ModelState(self.up, self.endpoint.url or None, self._model or None)

    def start(self) -> None:
        """Start to probe the server now and then."""
        if self.endpoint.url:
            self._probing = asyncio.create_task(self._probe_for_ever())

    async def close(self) -> None:
        """Close every connection after all records are written."""
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
        schema: Schema | None = None,
    ) -> AsyncIterator[Call]:
        """Make a call, which is recorded when the block is left, however that happens.

        With a JSON *schema* the server is asked to answer in that form. A `ModelFailed` that leaves
        the block is passed on; one caught inside must be reported to `Call.record_fallback`.
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
        call = Call(self, messages, row, limit, max_tokens, schema)
        began = time.monotonic()
        try:
            yield call
        except ModelFailed as failed:
            call.record_fallback(failed.reason, failed.detail)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            call.row = replace(call.row, error="cancelled")
            raise
        finally:
            passed = (time.monotonic() - began) * 1000
            await self._note(replace(call.row, latency_ms=round(passed, 3)))

    async def fetch(self, call: Call) -> tuple[str, bool]:
        """Return the text of an answer, and whether the server stopped it for its length."""
        if not self.endpoint.url:
            raise ModelFailed("off")
        if not self._model and not await self.probe():
            raise ModelFailed("model_unreachable")
        params = next((model.params for model in self._listed if model.id == self._model), None)
        if params is not None and params < CAPABLE:
            raise ModelFailed("too_small")
        request: dict[str, object] = {
            "model": self._model,
            "messages": list(call.messages),
            "stream": False,
            "temperature": 0.0,
            "max_completion_tokens": call.max_tokens,
        }
        if call.schema is not None:
            form = {"name": "answer", "strict": True, "schema": call.schema}
            request["response_format"] = {"type": "json_schema", "json_schema": form}
        body = await self._send("POST", "/chat/completions", REPLY_BYTES, request, call.timeout_s)
        self.up = True
        if self._prompt_log is not None:
            line = _prompt_line(call.row, self._model, call.messages, body)
            await asyncio.to_thread(_append, self._prompt_log, line)
        return read_reply(body)

    async def embeddings(self, texts: Sequence[str], timeout_s: float = EMBED_S) -> Numbers | None:
        """Return one vector per text, in rows; None if the server has no such model or is too slow.

        Vectors are kept: those of the example sentences are made once.
        """
        lacking = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        try:
            async with asyncio.timeout(timeout_s):
                if lacking and not self.embedder and not await self.probe():
                    return None
                for at in range(0, len(lacking) if self.embedder else 0, BATCH):
                    await self._embed(lacking[at : at + BATCH])
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError, ModelFailed):
            return None
        if not texts or any(text not in self._vectors for text in texts):
            return None
        for text in dict.fromkeys(texts):
            self._vectors.move_to_end(text)
        rows = [self._vectors[text] for text in texts]
        while len(self._vectors) > max(KEPT, len(rows)):
            self._vectors.popitem(last=False)
        return np.stack(rows)

    async def probe(self) -> bool:
        """Return whether the server lists its models, and keep the list; 2 s at most."""
        try:
            async with asyncio.timeout(CONNECT_S):
                self._listed = read_models(await self._send("GET", "/models", LISTED_BYTES))
            self.up = True
        except (aiohttp.ClientError, TimeoutError, ValueError, OSError, ModelFailed):
            self.up = False
        return self.up

    @property
    def _model(self) -> str:
        chats = (model.id for model in self._listed if not model.embeds)
        return self.endpoint.model or next(chats, "")

    @property
    def embedder(self) -> str:
        """The model that makes vectors; empty: the server lists none."""
        return next((model.id for model in self._listed if model.embeds), "")

    async def _embed(self, texts: Sequence[str]) -> None:
        request = {"model": self.embedder, "input": list(texts)}
        vectors = read_vectors(await self._send("POST", "/embeddings", VECTOR_BYTES, request))
        if len(vectors) != len(texts):
            raise ModelFailed("bad_reply", "not one vector a text")
        self._vectors.update(zip(texts, vectors, strict=True))

    async def _send(
        self,
        method: str,
        path: str,
        limit: int,
        request: object = None,
        timeout_s: float = CONNECT_S,
    ) -> bytes:
        """Return the body of an answer. Raises `ModelFailed` if it is unusable or over *limit*
        bytes."""
        if not self.endpoint.url:
            raise ModelFailed("off")
        if self._http is None:
            # A connection that was cut cannot be reused, so none is kept.
            connector = aiohttp.TCPConnector(force_close=True)
            self._http = aiohttp.ClientSession(
                connector=connector, auto_decompress=False, trust_env=False
            )
        patience = aiohttp.ClientTimeout(
            total=None,
            sock_connect=CONNECT_S,
            sock_read=max(FIRST_BYTE_SHARE * timeout_s, 0.05),
        )
        async with self._http.request(
            method,
            f"{self.endpoint.base}{path}",
            json=request,
            headers=self.endpoint.headers,
            allow_redirects=False,
            timeout=patience,
        ) as response:
            if response.status != 200:
                raise ModelFailed("bad_reply", f"status {response.status}")
            parts, total = [], 0
            async for chunk in response.content.iter_any():
                total += len(chunk)
                if total > limit:
                    raise ModelFailed("too_long")
                parts.append(chunk)
        return b"".join(parts)

    async def _probe_for_ever(self) -> None:
        while True:
            await self.probe()
            await asyncio.sleep(PROBE_S)

    async def _note(self, row: ModelCall) -> None:
        """Record a call, even a cancelled one, which must not wait."""
        task = asyncio.create_task(self._store_call(row))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)
        if row.error != "cancelled":
            await asyncio.shield(task)

    async def _store_call(self, row: ModelCall) -> None:
        try:
            if self._store is not None:
                await self._store.add((row,))
        except ApiError as problem:  # a lost record must not fail an answer
            log.warning("a call of the model was not noted: %s", problem)


def read_reply(body: bytes) -> tuple[str, bool]:
    """Return the text of an answer, and whether it was cut for its length. Raises `ModelFailed`."""
    choices = _object(body).get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not isinstance(text, str):
        raise ModelFailed("bad_reply", "the answer has no text")
    kept = text.encode("utf-8", "ignore").decode()  # without half surrogates
    clean = "".join(letter for letter in kept if letter.isprintable() or letter in "\n\t")
    return clean, choice.get("finish_reason") == "length"


def read_models(body: bytes) -> tuple[Listed, ...]:
    """Return the models that a server lists, in its order. Raises `ModelFailed`."""
    listed = []
    for model in _data(body):
        meta = model.get("meta")
        fields = meta if isinstance(meta, dict) else {}
        params = fields.get("n_params")
        if isinstance(model.get("id"), str):
            size = params if isinstance(params, int) else None
            listed.append(Listed(str(model["id"]), size, fields.get("kind") == "embedding"))
    return tuple(listed)


def read_vectors(body: bytes) -> Numbers:
    """Return the vectors of an answer, in the order of its texts. Raises `ModelFailed` or
    ValueError."""
    vectors = [item.get("embedding") for item in _data(body)]
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except TypeError as problem:
        raise ModelFailed("bad_reply", "the answer has no vectors") from problem
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ModelFailed("bad_reply", "the answer has no vectors")
    return rows


def _data(body: bytes) -> list[dict[str, object]]:
    data = _object(body).get("data")
    if not isinstance(data, list):
        raise ModelFailed("bad_reply", "the answer has no data")
    return [item for item in data if isinstance(item, dict)]


def _object(body: bytes) -> dict[str, object]:
    try:
        whole = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelFailed("bad_reply", "the answer is no JSON") from error
    if not isinstance(whole, dict):
        raise ModelFailed("bad_reply", "the answer is no JSON object")
    return whole


def _prompt_line(row: ModelCall, model: str, messages: Sequence[Message], body: bytes) -> str:
    """Write one call as a JSON object on a line, for tuning prompts."""
    line = {
        "ts": round(time.time(), 3),
        "role": row.role,
        "session_id": row.session_id,
        "model": model,
        "messages": [dict(message) for message in messages],
        "answer": body.decode("utf-8", "replace"),
    }
    return json.dumps(line, ensure_ascii=False) + "\n"


def _append(path: Path, line: str) -> None:
    """Append a line; if that fails, the line is lost and the failure logged."""
    try:
        with path.open("a", encoding="utf-8") as out:
            out.write(line)
    except OSError as problem:
        log.warning("the prompt log cannot be written: %s", problem.strerror)
