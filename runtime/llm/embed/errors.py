"""The errors of embedding that a client may meet."""

from typing import Final

from runtime.web.errors import ApiError, BadRequest, TooMany

BUSY_RETRY_S: Final = 1


class EmbedBusy(TooMany):
    """As many requests wait as the encoders take."""

    def __init__(
        self, message: str = "too many texts wait to be embedded; try again in a moment"
    ) -> None:
        super().__init__(message, headers={"Retry-After": str(BUSY_RETRY_S)})


class EmbedFailed(ApiError):
    """The model cannot be loaded, or its process failed or ended twice over the same texts."""

    status, code = 500, "api_error"


class BadText(BadRequest):
    """A text is no Unicode: it holds half of a surrogate pair."""

    def __init__(self) -> None:
        super().__init__("a text holds half a surrogate pair, which is no character")
