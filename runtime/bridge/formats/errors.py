"""Why a recording cannot be brought in."""

from typing import ClassVar

from runtime.web.errors import ApiError


class UnreadableRecording(ApiError):
    """The file was opened, and holds no recording that can be read."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "unparsable_file"


class UnparsableVbo(UnreadableRecording):
    """A VBO file without data, column names or a single good row."""

    code = "unparsable_vbo"


class FormatNotInstalled(UnreadableRecording):
    """The format is known, and the package that reads it is not installed."""

    code = "format_not_installed"


class BusNotFound(UnreadableRecording):
    """The DBC or car file for a CAN log is missing or cannot be used."""

    code = "bus_not_found"

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param
