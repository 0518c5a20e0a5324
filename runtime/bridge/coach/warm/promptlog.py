"""A file of what a language model was asked and what it answered, for those who tune prompts."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

log = logging.getLogger(__name__)


def prompt_line(
    role: str,
    session_id: str | None,
    model: str,
    messages: Sequence[Mapping[str, object]],
    answer: str,
) -> str:
    """One call as a JSON object on a line."""
    line = {
        "ts": round(time.time(), 3),
        "role": role,
        "session_id": session_id,
        "model": model,
        "messages": [dict(message) for message in messages],
        "answer": answer,
    }
    return json.dumps(line, ensure_ascii=False) + "\n"


def append(path: Path, line: str) -> None:
    """Write a line behind the others; one that cannot be written is lost, and the log says so."""
    try:
        with path.open("a", encoding="utf-8") as out:
            out.write(line)
    except OSError as problem:
        log.warning("the prompt log cannot be written: %s", problem.strerror)
