"""The errors of the language-model server and the two envelopes that carry them."""

from typing import ClassVar

from runtime.web.errors import ApiError, BadRequest, NotFound, TooMany

JsonObject = dict[str, object]


class ModelNotFound(NotFound):
    """This machine has no model with that id."""

    code = "model_not_found"

    def __init__(self, message: str) -> None:
        super().__init__(message, param="model", headers={"x-should-retry": "false"})


class PromptTooLong(BadRequest):
    """The prompt alone exhausts the total token budget; the message contains both numbers."""


class EngineFailed(ApiError):
    """The engine failed during generation."""

    status, code = 500, "server_error"


class EngineDied(EngineFailed):
    """The engine's process ended."""


class EmbedBusy(TooMany):
    """The queue of the encoders is full."""

    def __init__(
        self, message: str = "too many texts are waiting to be embedded; try again in a moment"
    ) -> None:
        super().__init__(message, headers={"Retry-After": "1"})


class EmbedFailed(ApiError):
    """The model cannot be loaded, or its process failed or died twice on the same texts."""

    status, code = 500, "api_error"


class BadText(BadRequest):
    """A text is not valid Unicode: it contains half of a surrogate pair."""

    text = "a text contains half of a surrogate pair, which is not a character"


class ApiFailure(ApiError):
    """Embeddings, documents or search failed through no fault of the client."""

    status, code = 500, "api_error"


class BenchmarkMissing(ApiError):
    """No benchmark has run since the server started."""

    status, code = 404, "no_benchmark"


class BenchmarkFailed(ApiError):
    """A measured run of the benchmark failed."""

    status, code = 500, "benchmark_failed"


class RichError(ApiError):
    """A chat failure that programs can act on: string code, state and next steps."""

    rich_code: ClassVar[str]
    actionable: ClassVar[bool] = False
    retry: ClassVar[bool] = False
    """Whether stock clients should retry automatically (header ``x-should-retry``)."""
    sysmodel_status: str | None = None
    next_steps: tuple[str, ...] = ()

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        headers = {"x-should-retry": "true" if self.retry else "false"}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        super().__init__(message, headers=headers)


class LocalInitFailed(RichError):
    """A model file exists but cannot be loaded: damaged, wrong backend, no memory, too slow."""

    status, code, rich_code, actionable = 503, "local_engine_failed", "LOCAL_INIT_FAILED", True
    next_steps = (
        "Check that the file is a complete GGUF chat model (GET /v1/models lists all).",
        "Check that the backend declared for the model in catalog.toml fits this machine.",
        "Check that the backend's libraries are installed and enough memory is free.",
    )


class NoRoom(LocalInitFailed):
    """The model does not fit into the free memory."""

    next_steps = (
        "Send the request again when a model that is in use becomes idle.",
        "Or ask for fewer max_tokens, or choose a smaller model (GET /v1/models lists all).",
        "Or free memory on this machine.",
    )


class NotForChat(LocalInitFailed):
    """The model is an intact embedding model, which cannot chat."""

    next_steps = (
        "Choose a chat model (GET /v1/models lists all).",
        "Send the request again with its id.",
        "For vectors of this model, send texts to POST /v1/embeddings.",
    )

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} is an embedding model; chat needs a chat model")


class SysmodelDownloadable(RichError):
    """The system model can be downloaded but is not here yet."""

    status, code, rich_code, actionable = 503, "sysmodel_unavailable", "SYSMODEL_DOWNLOADABLE", True
    sysmodel_status = "downloadable"
    next_steps = (
        "Start the download: POST /v1/sysmodel/download.",
        "Wait until GET /v1/sysmodel/status says available.",
        "Send the request again.",
    )


class SysmodelDownloading(RichError):
    """The system model is being downloaded."""

    status, code, rich_code = 425, "sysmodel_unavailable", "SYSMODEL_DOWNLOADING"
    actionable, retry = True, True
    sysmodel_status = "downloading"
    next_steps = ("Wait until GET /v1/sysmodel/status says available.", "Send the request again.")

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message, retry_after=retry_after)


class SysmodelUnavailable(RichError):
    """This machine has no system model, or its state cannot be read."""

    status, code, rich_code = 503, "sysmodel_unavailable", "SYSMODEL_UNAVAILABLE"
    sysmodel_status = "unavailable"

    def __init__(self, message: str, *, local_models: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        names = f": {', '.join(local_models)}" if local_models else "; GET /v1/models lists them"
        self.next_steps = (f"Choose a local model{names}.",)


class SysmodelUnknown(RichError):
    """The provider reported a state other than the four known ones."""

    status, code, rich_code = 503, "sysmodel_unavailable", "SYSMODEL_UNKNOWN"

    def __init__(self, status_code: int) -> None:
        super().__init__(f"the system model reports an unknown state ({status_code})")
        self.sysmodel_status = f"unknown({status_code})"


class SysmodelBackgroundBlocked(RichError):
    """The provider refuses background callers (its error code 30)."""

    status, code = 403, "sysmodel_background_blocked"
    rich_code, actionable = "SYSMODEL_BACKGROUND_BLOCKED", True
    sysmodel_status = "available"
    next_steps = (
        "Bring the program that hosts the system model to the foreground.",
        "Keep it there until the reply is complete.",
        "Or choose a local model; GET /v1/models lists them.",
    )


class SysmodelRuntimeError(RichError):
    """The system model failed while answering."""

    status, code, rich_code = 500, "sysmodel_runtime_error", "SYSMODEL_RUNTIME_ERROR"
    sysmodel_status = "unknown"
    next_steps = ("Try again, or choose a local model; GET /v1/models lists them.",)


def render(error: ApiError) -> JsonObject:
    """The body of an error answer: the rich envelope for a `RichError`, else the plain one."""
    return {"error": make_error_object(error)}


def make_error_object(error: ApiError) -> JsonObject:
    """The object under ``error``, both in an answer and in a frame of a stream."""
    if isinstance(error, RichError):
        rich: JsonObject = {
            "message": error.message,
            "type": error.code,
            "code": error.rich_code,
            "actionable": error.actionable,
            "next_steps": list(error.next_steps),
        }
        if error.sysmodel_status is not None:
            rich["sysmodel_status"] = error.sysmodel_status
        return rich
    plain: JsonObject = {"message": error.message, "type": error.code, "code": error.status}
    if error.param is not None:
        plain["param"] = error.param
    return plain
