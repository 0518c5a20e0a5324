"""The errors of the language-model server and the two envelopes that carry them."""

from typing import ClassVar

from runtime.web.errors import ApiError, BadRequest, NotFound, TooMany

JsonObject = dict[str, object]


class ModelNotFound(NotFound):
    """No model of that id is on this machine."""

    code = "model_not_found"

    def __init__(self, message: str) -> None:
        super().__init__(message, param="model", headers={"x-should-retry": "false"})


class PromptTooLong(BadRequest):
    """The prompt alone uses up the total token budget; the message carries both numbers."""


class EngineFailed(ApiError):
    """The engine broke down while it was generating."""

    status, code = 500, "server_error"


class EngineDied(EngineFailed):
    """The engine's process ended."""


class EmbedBusy(TooMany):
    """As many requests wait as the encoders take."""

    def __init__(
        self, message: str = "too many texts wait to be embedded; try again in a moment"
    ) -> None:
        super().__init__(message, headers={"Retry-After": "1"})


class EmbedFailed(ApiError):
    """The model cannot be loaded, or its process failed or ended twice over the same texts."""

    status, code = 500, "api_error"


class BadText(BadRequest):
    """A text is not Unicode: it holds half of a surrogate pair."""

    text = "a text holds half a surrogate pair, which is not a character"


class ApiFailure(ApiError):
    """Embeddings, documents or the search failed for a reason that is not the client's."""

    status, code = 500, "api_error"


class BenchmarkMissing(ApiError):
    """No benchmark has been run since the start."""

    status, code = 404, "no_benchmark"


class BenchmarkFailed(ApiError):
    """A measured run of the benchmark failed."""

    status, code = 500, "benchmark_failed"


class RichError(ApiError):
    """A chat failure that a program may act upon: string code, state, what to do next."""

    rich_code: ClassVar[str]
    actionable: ClassVar[bool] = False
    retry: ClassVar[bool] = False
    """Whether a stock client should try again by itself (header ``x-should-retry``)."""
    sysmodel_status: str | None = None
    next_steps: tuple[str, ...] = ()

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        headers = {"x-should-retry": "true" if self.retry else "false"}
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        super().__init__(message, headers=headers)


class LocalInitFailed(RichError):
    """A model file exists and cannot be made ready: damaged, wrong backend, no memory, too slow."""

    status, code, rich_code, actionable = 503, "local_engine_failed", "LOCAL_INIT_FAILED", True
    next_steps = (
        "Check that the file is a complete GGUF chat model (GET /v1/models lists all).",
        "Check that the backend declared for the model in catalog.toml fits this machine.",
        "Check that the backend's libraries are installed and memory is free.",
    )


class NoRoom(LocalInitFailed):
    """The memory that is free now does not hold the model."""

    next_steps = (
        "Send the request again when a model in use rests.",
        "Or ask for fewer max_tokens, or choose a smaller model (GET /v1/models lists all).",
        "Or free memory on this machine.",
    )


class NotForChat(LocalInitFailed):
    """The model is an embedding model: nothing is wrong with it."""

    next_steps = (
        "Choose a chat model (GET /v1/models lists all).",
        "Send the request again with its id.",
        "For vectors of this model, send texts to POST /v1/embeddings.",
    )

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} is an embedding model, chat needs a chat model")


class SysmodelDownloadable(RichError):
    """The system model can be downloaded and is not here yet."""

    status, code, rich_code, actionable = 503, "sysmodel_unavailable", "SYSMODEL_DOWNLOADABLE", True
    sysmodel_status = "downloadable"
    next_steps = (
        "Start the download: POST /v1/sysmodel/download.",
        "Wait until GET /v1/sysmodel/status says available.",
        "Send the request again.",
    )


class SysmodelDownloading(RichError):
    """The system model is on its way."""

    status, code, rich_code = 425, "sysmodel_unavailable", "SYSMODEL_DOWNLOADING"
    actionable, retry = True, True
    sysmodel_status = "downloading"
    next_steps = ("Wait until GET /v1/sysmodel/status says available.", "Send the request again.")

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message, retry_after=retry_after)


class SysmodelUnavailable(RichError):
    """There is no system model on this machine, or its state cannot be read."""

    status, code, rich_code = 503, "sysmodel_unavailable", "SYSMODEL_UNAVAILABLE"
    sysmodel_status = "unavailable"

    def __init__(self, message: str, *, local_models: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        named = f": {', '.join(local_models)}" if local_models else "; GET /v1/models lists them"
        self.next_steps = (f"Choose a local model{named}.",)


class SysmodelUnknown(RichError):
    """The provider reported a state outside the four known ones."""

    status, code, rich_code = 503, "sysmodel_unavailable", "SYSMODEL_UNKNOWN"

    def __init__(self, status_code: int) -> None:
        super().__init__(f"the system model reports an unknown state ({status_code})")
        self.sysmodel_status = f"unknown({status_code})"


class SysmodelBackgroundBlocked(RichError):
    """The provider refuses callers in the background (underlying error code 30)."""

    status, code = 403, "sysmodel_background_blocked"
    rich_code, actionable = "SYSMODEL_BACKGROUND_BLOCKED", True
    sysmodel_status = "available"
    next_steps = (
        "Bring the program that hosts the system model to the foreground.",
        "Keep it there until the reply is complete.",
        "Or choose a local model; GET /v1/models lists them.",
    )


class SysmodelRuntimeError(RichError):
    """The system model failed while it was answering."""

    status, code, rich_code = 500, "sysmodel_runtime_error", "SYSMODEL_RUNTIME_ERROR"
    sysmodel_status = "unknown"
    next_steps = ("Try again, or choose a local model; GET /v1/models lists them.",)


def render(error: ApiError) -> JsonObject:
    """The body of an error answer: the rich envelope for a `RichError`, else the plain one."""
    return {"error": error_object(error)}


def error_object(error: ApiError) -> JsonObject:
    """What stands under ``error``, in an answer and in a frame of a stream alike."""
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
