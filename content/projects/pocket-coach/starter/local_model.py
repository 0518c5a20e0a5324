"""Talks to a model server on this device."""

import json
from collections.abc import Iterator
from http.client import HTTPException
from urllib.request import Request, urlopen


def stream_lines(server: str, model: str, text: str) -> Iterator[bytes]:
    """Lines of a streamed reply; every failure of the connection is an OSError."""
    body = {
        "model": model,
        "stream": True,
        "messages": [{"role": "user", "content": text}],
    }
    request = Request(
        f"{server.rstrip('/')}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=60) as response:
            yield from response
    except HTTPException as problem:
        raise ConnectionError("the reply broke off") from problem
