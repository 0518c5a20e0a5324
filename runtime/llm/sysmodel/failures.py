"""Turns what a daemon said about its failure into the errors that clients know."""

import re
from dataclasses import dataclass

from runtime.llm.errors import (
    PromptTooLong,
    SysmodelBackgroundBlocked,
    SysmodelRuntimeError,
)
from runtime.web.errors import ApiError

BACKGROUND_CODE = 30
_SAYS_BACKGROUND = re.compile(
    r"error ?code:? ?30\b|background usage is blocked|not in (?:the )?foreground", re.IGNORECASE
)
_SERVICE_NAMES = ("sysmodel", "system model")
_BUSY_WORDS = re.compile(r"busy|loading|overload|queue|try again|unavailable_error", re.IGNORECASE)

# What a client must not read in somebody else's error text: addresses, paths, class names.
_PRIVATE = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    r"|\[?(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?::\d+)?"
    r"|\blocalhost(?::\d+)?\b"
    r"|(?:~|\.{1,2}|\b[A-Za-z]:)?[/\\][^\s'\"<>|,;]+"
    r"|\b(?:[A-Za-z_]\w*[.$])*[A-Z]\w*(?:Error|Exception|Failure)\b",
    re.IGNORECASE,
)
_TEXT_CAP = 200


@dataclass(eq=False)
class DaemonTrouble(Exception):
    """A daemon could not be reached or did not do what was asked."""

    text: str
    """What happened, in our words, fit for a client."""
    status: int | None = None
    """The HTTP status, where there was an answer."""
    body: object = None
    """The error that the daemon sent: parsed JSON, or its text."""
    retry_after_s: float | None = None
    """Set when the daemon is only busy."""


def said(body: object) -> str:
    """The words in a daemon's error: ``{"error": {"message"}}``, ``{"error": "…"}`` or a text."""
    inner = _inner(body)
    if isinstance(inner, dict):
        inner = inner.get("message", inner.get("detail"))
    return inner if isinstance(inner, str) else ""


def cleaned(text: str) -> str:
    """The first line of *text* without addresses, paths and class names, cut to a length."""
    line = next((part.strip() for part in text[:2000].splitlines() if part.strip()), "")
    line = _PRIVATE.sub("…", "".join(char for char in line if char.isprintable()))
    return line if len(line) <= _TEXT_CAP else line[: _TEXT_CAP - 1] + "…"


def is_background_block(body: object) -> bool:
    """Whether a daemon refuses because its host program is in the background (code 30)."""
    inner = _inner(body)
    if isinstance(inner, dict):
        codes = [inner.get(key) for key in ("code", "errorCode", "error_code")]
        if any(_is_thirty(code) for code in codes) or "SYSMODEL_BACKGROUND_BLOCKED" in codes:
            return True
    text = said(body).lower()
    named = "foreground" in text and any(name in text for name in _SERVICE_NAMES)
    return named or _SAYS_BACKGROUND.search(text) is not None


def is_busy(status: int, body: object, *, has_retry_after: bool) -> bool:
    """Whether it is worth asking again later."""
    if status == 429:
        return True
    inner = _inner(body)
    kind = inner.get("type") if isinstance(inner, dict) else None
    words = f"{said(body)} {kind}"
    return status == 503 and (has_retry_after or _BUSY_WORDS.search(words) is not None)


def as_error(trouble: DaemonTrouble) -> ApiError:
    """The error that a chat client gets for *trouble*."""
    if trouble.body is not None and is_background_block(trouble.body):
        return SysmodelBackgroundBlocked(
            "the program that hosts the system model is in the background and refused"
        )
    too_long = _prompt_too_long(trouble.body)
    if too_long is not None:
        return too_long
    words = cleaned(said(trouble.body))
    return SysmodelRuntimeError(f"{trouble.text}: {words}" if words else trouble.text)


def _inner(body: object) -> object:
    return body.get("error", body) if isinstance(body, dict) else body


def _is_thirty(code: object) -> bool:
    return not isinstance(code, bool) and code in (BACKGROUND_CODE, str(BACKGROUND_CODE))


def _prompt_too_long(body: object) -> PromptTooLong | None:
    inner = _inner(body)
    if not isinstance(inner, dict) or inner.get("type") != "exceed_context_size_error":
        return None
    tokens, budget = inner.get("n_prompt_tokens"), inner.get("n_ctx")
    if not isinstance(tokens, int) or not isinstance(budget, int):
        return None
    return PromptTooLong(
        f"the prompt has {tokens} tokens and the system model's budget is {budget}",
        param="messages",
    )
