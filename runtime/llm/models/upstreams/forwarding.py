"""Forward requests to upstreams, failing over to the next as long as the client saw nothing."""

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
    detect_long_prompt,
    member,
    read_error_text,
    sanitise,
)
from runtime.llm.models.system.state import RelayedReply
from runtime.llm.models.upstreams.fleet import Upstream, Upstreams, UpstreamsUnavailable
from runtime.web.errors import ApiError, BadRequest

VIA: Final = "1.1 paddock"
"""Value of the header ``Via``: a request that has it is not forwarded again, to avoid loops."""
AGENT: Final = "paddock"
VECTORS_CAP: Final = 64 << 20
"""Maximum bytes of an answer with vectors."""
WIDEST: Final = 16_384
"""Maximum numbers per vector."""
_OPENING: Final = 1000
"""A growing text is recognised by this many first characters."""
_REFUSALS: Final = (400, 413, 422)
"""Statuses that blame the request, so that other upstreams would refuse it too."""
_SIGN: Final = Piece("")
"""A sign of life."""


class UpstreamFailed(ApiError):
    """An upstream's answer does not follow the OpenAI API, or its reply broke off."""

    status, code = 502, "upstream_failed"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"Retry-After": "1"})


def generate(upstreams: Upstreams, call: ChatCall) -> Generation:
    """The reply of the conversation's upstream, or of another one if that fails.

    Another upstream starts over if the first fails before its first token, or before the end of a
    reply that the client gets as a whole. Upstreams rarely continue a text alike, so a reply that
    the client has seen in part ends with `UpstreamFailed`.
    """
    return RelayedReply(lambda reply: _answer(upstreams, call, reply))


async def _answer(
    upstreams: Upstreams, call: ChatCall, reply: RelayedReply
) -> AsyncGenerator[Piece, None]:
    path = "/chat/completions" if call.prompt is None else "/completions"
    body = compose_body(call)
    attempts = _Attempts(upstreams)
    for upstream in upstreams.order(call.model, key_conversation(call)):
        attempts.begin()
        held: list[Piece] = []
        shown = False
        answer = read_reply(upstream.daemon, path, body, reply.settle, make_headers(call.client))
        try:
            with upstream.count_request():
                async with aclosing(answer) as pieces:
                    async for piece in pieces:
                        shown = not call.is_whole
                        held += [piece] if call.is_whole else []
                        yield piece if shown else _SIGN
        except DaemonTrouble as trouble:
            attempts.note(upstream, trouble)
            if shown:
                upstreams.cut += 1
                text = f"{_write_sentence(trouble)}; send the request again"
                raise UpstreamFailed(text) from trouble
            yield _SIGN
        else:
            upstreams.note_success(upstream)
            for piece in held:
                yield piece
            return
    raise attempts.error()


async def embed(
    upstreams: Upstreams, model: str, texts: Sequence[str], dimensions: int | None, client: str
) -> Vectors:
    """Embed each text at the first upstream that answers."""
    body: dict[str, object] = {"model": model, "input": texts, "encoding_format": "base64"}
    body |= {"dimensions": dimensions} if dimensions is not None else {}
    attempts = _Attempts(upstreams)
    for upstream in upstreams.order(model, texts[0][:_OPENING]):
        attempts.begin()
        try:
            with upstream.count_request():
                raw = await upstream.daemon.post(
                    "/embeddings", body, make_headers(client), VECTORS_CAP
                )
                vectors = await asyncio.to_thread(read_vectors, raw, len(texts))
        except DaemonTrouble as trouble:
            attempts.note(upstream, trouble)
        else:
            upstreams.note_success(upstream)
            if dimensions not in (None, vectors.width):
                raise EmbedFailed("the upstream's vectors do not have the requested dimensions")
            return vectors
    raise attempts.error()


class _Attempts:
    """Records the attempts of a request at several upstreams."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._troubles: list[DaemonTrouble] = []

    def begin(self) -> None:
        """Count an attempt after the first as a failover."""
        self._upstreams.failovers += bool(self._troubles)

    def note(self, upstream: Upstream, trouble: DaemonTrouble) -> None:
        """Record a failure; raise the error for the client if the request is to blame."""
        refusal = _refusal(trouble)
        if refusal is not None:
            raise refusal from trouble
        self._upstreams.note_failure(upstream, trouble)
        self._troubles.append(trouble)

    def error(self) -> ApiError:
        """The error after the last attempt; an invalid answer takes precedence."""
        for trouble in self._troubles:
            if not trouble.away and trouble.retry_after_s is None:
                return UpstreamFailed(_write_sentence(trouble))
        texts = dict.fromkeys(trouble.text for trouble in self._troubles)
        waits = [trouble.retry_after_s or 1.0 for trouble in self._troubles]
        text = f"no upstream could answer: it {', or '.join(texts)}"
        return UpstreamsUnavailable(text, min(waits))


def _refusal(trouble: DaemonTrouble) -> ApiError | None:
    """The error for the client if its request is to blame."""
    if trouble.status not in _REFUSALS:
        return None
    words = sanitise(read_error_text(trouble.body))
    refusal = BadRequest(f"the upstream rejected the request{f': {words}' if words else ''}")
    return detect_long_prompt(trouble.body) or refusal


def _write_sentence(trouble: DaemonTrouble) -> str:
    words = sanitise(read_error_text(trouble.body))
    return f"the upstream {trouble.text}{f': {words}' if words else ''}"


# --- requests


def key_conversation(call: ChatCall) -> str:
    """A key of the conversation: its session, or its client and beginning.

    All requests of a conversation share their first turns, which the upstream's prompt cache uses.
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


def make_headers(client: str) -> Mapping[str, str]:
    """Headers of a forwarded request; the client is a digest, so that it stays anonymous."""
    headers = {"User-Agent": AGENT, "Via": VIA}
    if client:
        digest = hashlib.sha256(client.encode("utf-8", "surrogatepass")).hexdigest()
        headers["X-Client-Id"] = digest[:16]
    return headers


# --- vectors


def read_vectors(raw: bytes, wanted: int) -> Vectors:
    """Read the vectors of an answer, scaled to unit length, in the order of the texts.

    Raises `DaemonTrouble` unless there are *wanted* vectors of finite numbers and equal width.
    """
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise DaemonTrouble("sent something that is not JSON") from None
    data = member(answer, "data")
    entries = data if isinstance(data, list) else []
    rows = {
        count(member(entry, "index")): _parse_row(member(entry, "embedding")) for entry in entries
    }
    ordered = [rows.get(at) for at in range(wanted)]
    valid = [row for row in ordered if row is not None]
    if len(entries) != wanted or len(valid) != wanted or len({row.size for row in valid}) != 1:
        raise DaemonTrouble("did not answer with one vector per text")
    vectors = np.stack(valid)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise DaemonTrouble("sent vectors that are not finite numbers")
    tokens = count(member(answer, "usage", "prompt_tokens")) or 0
    unit = vectors / np.maximum(lengths, np.float32(1e-12))
    return Vectors(unit.shape[1], unit.astype("<f4").tobytes(), tokens)


def _parse_row(value: object) -> npt.NDArray[np.float32] | None:
    """Read a vector from a list of numbers or base64 of little-endian float32; None if invalid."""
    try:
        if isinstance(value, str):
            row = np.frombuffer(base64.b64decode(value, validate=True), "<f4")
        elif isinstance(value, list):
            with np.errstate(over="ignore"):  # infinities are rejected later
                row = np.array(value, "<f4")
        else:
            return None
    except (binascii.Error, ValueError, TypeError, OverflowError):
        return None
    return row if row.ndim == 1 and 0 < row.size <= WIDEST else None
