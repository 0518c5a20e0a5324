"""Embeddings: one vector per text."""

import base64
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import Field, StrictInt, StrictStr, field_validator

from runtime.llm.api.models import find_embedding_model
from runtime.llm.api.tenants import touch
from runtime.llm.errors import ApiFailure, EmbedBusy, EmbedFailed, ModelNotFound
from runtime.llm.identity import identify_client
from runtime.llm.inference import Vectors
from runtime.llm.models.catalog import Entry
from runtime.llm.models.upstreams.fleet import UpstreamsUnavailable
from runtime.llm.models.upstreams.forwarding import VIA, UpstreamFailed, embed
from runtime.llm.service import SERVICE, body_cap
from runtime.web.errors import BadField, TooLarge
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

MAX_INPUTS: Final = 2048
MAX_NAME: Final = 256
routes = Routes("embeddings")


class EmbeddingsRequest(Wire):
    """Texts to embed; unknown fields are ignored."""

    input: StrictStr | list[StrictStr] = Field(
        description=f"a text, or a list of at most {MAX_INPUTS} texts; none may be empty"
    )
    model: Annotated[StrictStr, Field(max_length=MAX_NAME)] = Field(
        description="an embedding model of GET /v1/models"
    )
    encoding_format: Literal["float", "base64"] | None = Field(
        None, description="base64: little-endian float32; default: numbers"
    )
    dimensions: Annotated[StrictInt, Field(ge=1, le=1 << 20)] | None = Field(
        None, description="the model's width, or less if the model supports it"
    )

    @field_validator("input", mode="before")
    @classmethod
    def _input_is_text(cls, value: object) -> object:
        """Report one clear error, which the union of two types does not."""
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("must be a text or an array of strings; token ids are not supported")
        if not texts or not all(texts):
            raise ValueError("must not be empty or contain empty texts")
        if len(texts) > MAX_INPUTS:
            raise ValueError(f"must not have more than {MAX_INPUTS} texts")
        return value

    def texts(self) -> list[str]:
        """The input as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class Embedding(Wire):
    """The vector of one text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str = Field(description="of unit length; text if base64 was requested")


class EmbeddingsUsage(Wire):
    """Tokens of all texts, with special tokens and without padding."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(Wire):
    """The vectors in the order of the input."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    truncated: int | None = absent("number of texts that were cut to the model's maximum input")


@routes.post(
    "/v1/embeddings",
    before=touch,
    body_cap=body_cap,
    errors=(
        ModelNotFound,
        TooLarge,
        EmbedBusy,
        EmbedFailed,
        ApiFailure,
        UpstreamFailed,
        UpstreamsUnavailable,
    ),
    failure=ApiFailure,
)
async def create_embeddings(request: web.Request, *, body: EmbeddingsRequest) -> EmbeddingsAnswer:
    """Make a vector of each text."""
    service = request.app[SERVICE]
    texts = body.texts()
    if sum(map(len, texts)) > service.settings.max_prompt_chars:
        limit = service.settings.max_prompt_chars
        raise TooLarge(f"the texts together have more than {limit} characters", param="input")
    client = identify_client(request.headers, request.remote)
    forwarded = VIA in request.headers.get("Via", "")
    if not forwarded and await service.chats.is_elsewhere(body.model.strip()):
        with service.embedder.admission(client):
            model, dimensions = body.model.strip(), body.dimensions
            return _answer(body, await embed(service.upstreams, model, texts, dimensions, client))
    entry = await find_embedding_model(service, body.model)
    with service.awake.hold():
        width = await service.embedder.width(entry) if body.dimensions is not None else 0
        wanted = _dimensions(body.dimensions, width, entry)
        vectors = await service.embedder.embed(entry, texts, client=client)
    if wanted is not None and wanted < vectors.width:
        vectors = vectors.shorten(wanted)
    return _answer(body, vectors)


def _dimensions(wanted: int | None, width: int, entry: Entry) -> int | None:
    """The requested width, or None for the model's own. Raises `BadField`."""
    if wanted is None or wanted == width:
        return None
    if wanted > width:
        raise BadField(f"dimensions: must be {width} for this model", param="dimensions")
    if not entry.declared.matryoshka:
        raise BadField(
            f"dimensions: must be {width} for this model, whose vectors cannot be shortened",
            param="dimensions",
        )
    return wanted


def _answer(body: EmbeddingsRequest, vectors: Vectors) -> EmbeddingsAnswer:
    def encode(number: int) -> list[float] | str:
        if body.encoding_format == "base64":
            return base64.b64encode(vectors.row(number)).decode("ascii")
        return vectors.floats(number)

    return EmbeddingsAnswer(
        data=[Embedding(index=at, embedding=encode(at)) for at in range(len(vectors))],
        model=body.model,
        usage=EmbeddingsUsage(prompt_tokens=vectors.tokens, total_tokens=vectors.tokens),
        truncated=vectors.truncated or None,
    )
