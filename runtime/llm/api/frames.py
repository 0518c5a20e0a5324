"""The frames of a chat stream as bytes; pure."""

from typing import Final

import orjson

from runtime.llm.errors import error_object
from runtime.web.errors import ApiError

DONE: Final = b"data: [DONE]\n\n"


def error_frame(error: ApiError) -> bytes:
    """The frame that tells of a failure after the stream began; only ``[DONE]`` follows."""
    return b"data: " + orjson.dumps({"error": error_object(error)}) + b"\n\n"


class Frames:
    """The frames of one reply; what they share is rendered once."""

    def __init__(self, completion_id: str, created: int, model: str) -> None:
        shared = orjson.dumps(
            {
                "id": completion_id,
                "object": "chat.completion.chunk",
                "created": created,
                "model": model,
            }
        )
        self._head = b"data: " + shared[:-1]
        self._before = self._head + b',"choices":[{"index":0,"delta":{"content":'
        self._after = b"}}]}\n\n"

    def role(self) -> bytes:
        """The first frame: generation begins."""
        return self._head + b',"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'

    def content(self, text: str) -> bytes:
        """A frame with text."""
        return self._before + orjson.dumps(text) + self._after

    def finish(self, reason: str, *, truncated: bool) -> bytes:
        """The frame that ends the text."""
        cut = b',"truncated":true' if truncated else b""
        why = orjson.dumps(reason)
        return (
            self._head
            + b',"choices":[{"index":0,"delta":{},"finish_reason":'
            + why
            + cut
            + b"}]}\n\n"
        )

    def usage(self, usage: bytes) -> bytes:
        """The frame with the usage, given as JSON, for a client that asked for it."""
        return self._head + b',"choices":[],"usage":' + usage + b"}\n\n"
