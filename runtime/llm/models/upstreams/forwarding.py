"""Has upstreams answer a request: the next one where one fails, as long as nothing was shown."""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

import numpy as np
import numpy.typing as npt
import orjson

from runtime.llm.errors import EmbedFailed
from runtime.llm.inference import ChatCall, Generation, Piece, Vectors
from runtime.llm.models.completions import compose_body, read_reply
from runtime.llm.models.daemon import (
    DaemonTrouble,
    count,
    error_text,
    member,
    prompt_too_long,
    sanitise,
)
from runtime.llm.models.system.state import RelayedReply
from runtime.llm.models.upstreams.fleet import Upstream, Upstreams, UpstreamsUnavailable
from runtime.web.errors import ApiError, BadRequest

VIA: Final = "1.1 paddock"
"""Of the header ``Via``: a request that has it is not forwarded again, so none runs in circles."""
AGENT: Final = "paddock"
VECTORS_CAP: Final = 64 << 20
"""Bytes of an answer with vectors."""
WIDEST: Final = 16_384
"""Numbers of a vector."""
_OPENING: Final = 1000
"""Characters of a text by which it is known again when it has grown."""
_REFUSALS: Final = (400, 413, 422)
"""Statuses that blame the request, which another upstream would refuse as well."""
_SIGN: Final = Piece("")
"""Says that there is work going on."""


class UpstreamFailed(ApiError):
    """An upstream did not answer as an OpenAI-compatible server does, or broke off its reply."""

    status, code = 502, "upstream_failed"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"Retry-After": "1"})


def generate(upstreams: Upstreams, call: ChatCall) -> Generation:
    """The reply of the upstream to which the conversation belongs, or else of another one.

    Another one begins anew where the first fails before its first token, or before the end of a
    reply that the client gets as a whole. Two upstreams rarely go on alike, so a reply of which
    the client has seen some ends with `UpstreamFailed`.
    """
    return RelayedReply(lambda reply: _answer(upstreams, call, reply))


async def _answer(
    upstreams: Upstreams, call: ChatCall, reply: RelayedReply
) -> AsyncGenerator[Piece, None]:
    path = "/chat/completions" if call.prompt is None else "/completions"
    body = compose_body(call)
    attempts = _Attempts(upstreams)
    for upstream in upstreams.order(call.model, conversation_of(call)):
        attempts.begin()
        held: list[Piece] = []
        shown = False
        answer = read_reply(upstream.daemon, path, body, reply.settle, headers_for(call.client))
        try:
            with upstream.at_work():
                async with aclosing(answer) as pieces:
                    async for piece in pieces:
                        shown = not call.is_whole
                        held += [piece] if call.is_whole else []
                        yield piece if shown else _SIGN
        except DaemonTrouble as trouble:
            attempts.note(upstream, trouble)
            if shown:
                upstreams.cut += 1
                raise UpstreamFailed(f"{_sentence(trouble)}; send the request again") from trouble
            yield _SIGN
        else:
            upstreams.succeeded(upstream)
            for piece in held:
                yield piece
            return
    raise attempts.error()


async def embed(
    upstreams: Upstreams, model: str, texts: Sequence[str], dimensions: int | None, client: str
) -> Vectors:
    """A vector of each text from the first upstream that answers."""
    body: dict[str, object] = {"model": model, "input": texts, "encoding_format": "base64"}
    body |= {"dimensions": dimensions} if dimensions is not None else {}
    attempts = _Attempts(upstreams)
    for upstream in upstreams.order(model, texts[0][:_OPENING]):
        attempts.begin()
        try:
            with upstream.at_work():
                raw = await upstream.daemon.post(
                    "/embeddings", body, headers_for(client), VECTORS_CAP
                )
                vectors = await asyncio.to_thread(read_vectors, raw, len(texts))
        except DaemonTrouble as trouble:
            attempts.note(upstream, trouble)
        else:
            upstreams.succeeded(upstream)
            if dimensions not in (None, vectors.width):
                raise EmbedFailed("the upstream's vectors do not have the dimensions asked for")
            return vectors
    raise attempts.error()


class _Attempts:
    """What became of a request at one upstream after the other."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._troubles: list[DaemonTrouble] = []

    def begin(self) -> None:
        """One more upstream is asked."""
        self._upstreams.failovers += bool(self._troubles)

    def note(self, upstream: Upstream, trouble: DaemonTrouble) -> None:
        """The upstream failed; raises the error for the client where the request is to blame."""
        refusal = _refusal(trouble)
        if refusal is not None:
            raise refusal from trouble
        self._upstreams.failed(upstream, trouble)
        self._troubles.append(trouble)

    def error(self) -> ApiError:
        """The error after the last one: that of an upstream which answered wrongly comes first."""
        for trouble in self._troubles:
            if not trouble.away and trouble.retry_after_s is None:
                return UpstreamFailed(_sentence(trouble))
        texts = dict.fromkeys(trouble.text for trouble in self._troubles)
        waits = [trouble.retry_after_s or 1.0 for trouble in self._troubles]
        text = f"no upstream could answer: it {', or '.join(texts)}"
        return UpstreamsUnavailable(text, min(waits))


def _refusal(trouble: DaemonTrouble) -> ApiError | None:
    """The error for a request that is itself to blame."""
    if trouble.status not in _REFUSALS:
        return None
    words = sanitise(error_text(trouble.body))
    refusal = BadRequest(f"the upstream refuses the request{f': {words}' if words else ''}")
    return prompt_too_long(trouble.body) or refusal


def _sentence(trouble: DaemonTrouble) -> str:
    words = sanitise(error_text(trouble.body))
    return f"the upstream {trouble.text}{f': {words}' if words else ''}"


# --- what is sent


def conversation_of(call: ChatCall) -> str:
    """What tells a conversation from others: its session, or who asks and how it begins.

    All requests of a conversation share their first turns, and so does the upstream's cache of
    prompts.
    """
    if call.session_id:
        return f"{call.owner}\0{call.session_id}"
    if call.prompt is not None:
        return f"{call.client}\0{call.prompt[:_OPENING]}"
    opening: list[str] = []
    for turn in call.turns:
        opening.append(turn.content)
        if turn.role != "system":
            break
    return "\0".join([call.client, *opening])


def headers_for(client: str) -> Mapping[str, str]:
    """The headers of a forwarded request; the client is a number, so that it stays unknown."""
    headers = {"User-Agent": AGENT, "Via": VIA}
    if client:
        digest = hashlib.sha256(client.encode("utf-8", "surrogatepass")).hexdigest()
        headers["X-Client-Id"] = digest[:16]
    return headers


# --- vectors


def read_vectors(raw: bytes, wanted: int) -> Vectors:
    """The vectors of an answer, of unit length, in the order of the texts.

    Raises `DaemonTrouble` unless there are as many as *wanted*, of one width and of numbers.
    """
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise DaemonTrouble("sent something that is not JSON") from None
    data = member(answer, "data")
    entries = data if isinstance(data, list) else []
    rows = {count(member(entry, "index")): _row(member(entry, "embedding")) for entry in entries}
    ordered = [rows.get(at) for at in range(wanted)]
    found = [row for row in ordered if row is not None]
    if len(entries) != wanted or len(found) != wanted or len({row.size for row in found}) != 1:
        raise DaemonTrouble("did not answer with a vector of each text")
    vectors = np.stack(found)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise DaemonTrouble("sent vectors that are not numbers")
    tokens = count(member(answer, "usage", "prompt_tokens")) or 0
    unit = vectors / np.maximum(lengths, np.float32(1e-12))
    return Vectors(unit.shape[1], unit.astype("<f4").tobytes(), tokens)


def _row(value: object) -> npt.NDArray[np.float32] | None:
    """A vector as a list of numbers or as base64 of little-endian float32; None for neither."""
    try:
        if isinstance(value, str):
            row = np.frombuffer(base64.b64decode(value, validate=True), "<f4")
        elif isinstance(value, list):
            with np.errstate(over="ignore"):  # infinity is refused with the rest
                row = np.array(value, "<f4")
        else:
            return None
    except (binascii.Error, ValueError, TypeError, OverflowError):
        return None
    return row if row.ndim == 1 and 0 < row.size <= WIDEST else None
