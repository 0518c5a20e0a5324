"""Text completions: continue a raw prompt, without a chat template."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import Field, StrictBool, StrictStr, field_validator

from runtime.llm.api.calls import (
    ERRORS,
    HEADERS,
    Reply,
    admit,
    answer,
    make_sampling,
    repeat_call,
    sum_outcomes,
    take_token,
)
from runtime.llm.api.effects import watch_effects
from runtime.llm.api.wire import (
    Alternatives,
    SamplingFields,
    StreamOptions,
    Tokens,
    Usage,
    check_length,
    make_usage,
)
from runtime.llm.chats import Ticket, fingerprint
from runtime.llm.inference import ChatCall, Piece, TokenLogprob, Turn
from runtime.llm.service import SERVICE, body_cap, require_compat
from runtime.web.errors import BadField, NotFound
from runtime.web.routes import Routes
from runtime.web.sse import frame
from runtime.web.wire import Wire, absent

PATH: Final = "/v1/completions"
MAX_PROMPTS: Final = 64
USUAL_TOKENS: Final = 16
routes = Routes("completions")


class CompletionRequest(SamplingFields):
    """A completion request; unknown fields are ignored."""

    prompt: StrictStr | Annotated[list[StrictStr], Field(min_length=1, max_length=MAX_PROMPTS)] = (
        Field(description="one text or several; token ids are not supported")
    )
    max_tokens: Tokens | None = Field(
        None, description=f"budget of each reply; default: {USUAL_TOKENS}"
    )
    stream_options: StreamOptions | None = None
    echo: StrictBool | None = Field(None, description="start each text with its prompt")
    suffix: StrictStr | None = Field(None, description="rejected: text cannot be inserted")
    logprobs: Alternatives = Field(
        None, description="report log-probabilities, with this many likely tokens at each position"
    )

    @field_validator("prompt", mode="before")
    @classmethod
    def _prompt_is_text(cls, value: object) -> object:
        """Report one clear error: the union's first one would be that a list is not text."""
        if isinstance(value, list) and any(not isinstance(text, str) for text in value):
            raise ValueError("must be a text or a list of texts; token ids are not supported")
        return value

    @field_validator("suffix")
    @classmethod
    def _nothing_follows(cls, value: str | None) -> str | None:
        if value:
            raise ValueError("is not supported; leave this field out")
        return value

    def prompts(self) -> list[str]:
        """The prompts, as a list."""
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt


class TextLogprobs(Wire):
    """Log-probabilities of a text's tokens, as lists of equal length."""

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


def make_logprobs(tokens: Sequence[TokenLogprob], offset: int) -> TextLogprobs | None:
    """The probabilities of tokens that begin *offset* characters into the text."""
    if not tokens:
        return None
    ends = accumulate((len(token.token) for token in tokens), initial=offset)
    return TextLogprobs(
        tokens=[token.token for token in tokens],
        token_logprobs=[token.logprob for token in tokens],
        top_logprobs=[{other.token: other.logprob for other in token.top} for token in tokens],
        text_offset=list(ends)[:-1],
    )


class TextChoice(Wire):
    """One text."""

    index: int
    text: str
    logprobs: TextLogprobs | None = None
    finish_reason: Literal["stop", "length"] | None = None


class Completion(Wire):
    """All texts, or what a frame of a stream adds to one of them."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[TextChoice]
    usage: Usage | None = absent()
    system_fingerprint: str | None = absent()


async def begin(request: web.Request) -> None:
    """Raise `NotFound` unless the settings enable the route; charge the client's rate limit."""
    require_compat(request)
    await take_token(request)


@routes.post(
    PATH,
    before=begin,
    body_cap=body_cap,
    context=watch_effects,
    stream=Completion,
    headers=HEADERS,
    errors=(NotFound, *ERRORS),
)
async def complete(
    request: web.Request, *, body: CompletionRequest
) -> Completion | web.StreamResponse:
    """Continue a prompt, as JSON or as Server-Sent Events; requires the setting compat."""
    settings = request.app[SERVICE].settings
    prompts, choices = body.prompts(), body.n or 1
    check_length(prompts, settings.max_prompt_chars, "prompt")
    usual = replace(body.sampling(make_sampling(settings)), logprobs=body.logprobs)
    calls = [
        call
        for prompt in prompts
        for call in repeat_call(
            ChatCall(
                model=body.model_in(settings),
                turns=[Turn("user", prompt)],  # for a system model that can only chat
                prompt=prompt,
                sampling=usual,
                max_completion_tokens=body.max_tokens or USUAL_TOKENS,
                stop=body.stops(),
                explicit=body.dump_explicit_fields(),
            ),
            choices,
        )
    ]
    if len(calls) > MAX_PROMPTS:
        raise BadField(f"n: a request may have at most {MAX_PROMPTS} texts", param="n")
    ticket = await admit(request, calls[0].model)
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    form = TextForm(ticket, choices=choices, echo=prompts if body.echo else (), with_usage=usage)
    return await answer(request, ticket, calls, form, stream=bool(body.stream))


class TextForm:
    """A text completion, or its frames."""

    def __init__(
        self, ticket: Ticket, *, choices: int, echo: Sequence[str], with_usage: bool
    ) -> None:
        self.choices = choices
        self._echo = echo
        self._with_usage = with_usage
        self._empty = Completion(
            id=f"cmpl-{ticket.number}",
            created=int(ticket.created),
            model=ticket.model,
            choices=[],
        )

    def begin(self, reply: Reply) -> bytes:
        """Return a frame with the prompt if the client wants it echoed."""
        prompt = self._prompt(reply)
        return self._add(TextChoice(index=reply.number, text=prompt)) if prompt else b""

    def add(self, reply: Reply, piece: Piece) -> bytes:
        """Return a frame with the piece's text."""
        offset = len(self._prompt(reply)) + reply.chars - len(piece.text)
        logprobs = make_logprobs(piece.tokens, offset)
        return self._add(TextChoice(index=reply.number, text=piece.text, logprobs=logprobs))

    def end(self, reply: Reply) -> bytes:
        """Return the frame with the finish reason."""
        finish = _finish(reply)
        return self._add(TextChoice(index=reply.number, text="", finish_reason=finish))

    def finish(self, replies: Sequence[Reply]) -> bytes:
        """Return the frame with the usage if the client requested it."""
        usage = make_usage(sum_outcomes(replies, self.choices))
        return self._frame(usage=usage) if self._with_usage and usage is not None else b""

    def whole(self, replies: Sequence[Reply]) -> Completion:
        """Return the completion as one object."""
        choices = [
            TextChoice(
                index=reply.number,
                text=self._prompt(reply) + reply.text,
                logprobs=make_logprobs(reply.tokens, len(self._prompt(reply))),
                finish_reason=_finish(reply),
            )
            for reply in replies
        ]
        return self._empty.model_copy(
            update={
                "choices": choices,
                "usage": make_usage(sum_outcomes(replies, self.choices)),
                "system_fingerprint": fingerprint(replies[0].source),
            }
        )

    def _prompt(self, reply: Reply) -> str:
        return self._echo[reply.number // self.choices] if self._echo else ""

    def _add(self, choice: TextChoice) -> bytes:
        return self._frame(choices=[choice])

    def _frame(self, **fields: object) -> bytes:
        return frame(self._empty.model_copy(update=fields).model_dump_json().encode())


def _finish(reply: Reply) -> Literal["stop", "length"]:
    return "length" if reply.outcome.finish == "length" else "stop"
