"""What the failures of the system model's daemon mean to a chat client."""

import re
from typing import Final

from runtime.llm.errors import SysmodelBackgroundBlocked, SysmodelRuntimeError
from runtime.llm.models.daemon import (
    DaemonTrouble,
    error_part,
    error_text,
    prompt_too_long,
    sanitise,
)
from runtime.web.errors import ApiError

BACKGROUND_CODE: Final = 30
_SAYS_BACKGROUND: Final = re.compile(
    r"error ?code:? ?30\b|background usage is blocked|not in (?:the )?foreground", re.IGNORECASE
)
_SERVICE_NAMES: Final = ("sysmodel", "system model")


def sentence(trouble: DaemonTrouble) -> str:
    """What happened, as a whole sentence."""
    return f"the system model's daemon {trouble.text}"


def as_error(trouble: DaemonTrouble) -> ApiError:
    """The error that a chat client gets for *trouble*."""
    if trouble.body is not None and is_background_block(trouble.body):
        return SysmodelBackgroundBlocked(
            "the program that hosts the system model is in the background and refused"
        )
    too_long = prompt_too_long(trouble.body)
    if too_long is not None:
        return too_long
    words = sanitise(error_text(trouble.body))
    text = sentence(trouble)
    return SysmodelRuntimeError(f"{text}: {words}" if words else text)


def is_background_block(body: object) -> bool:
    """Whether a daemon refuses because its host program is in the background (code 30)."""
    part = error_part(body)
    if isinstance(part, dict):
        codes = [part.get(key) for key in ("code", "errorCode", "error_code")]
        if any(_is_thirty(code) for code in codes) or "SYSMODEL_BACKGROUND_BLOCKED" in codes:
            return True
    text = error_text(body).lower()
    named = "foreground" in text and any(name in text for name in _SERVICE_NAMES)
    return named or _SAYS_BACKGROUND.search(text) is not None


def _is_thirty(code: object) -> bool:
    return not isinstance(code, bool) and code in (BACKGROUND_CODE, str(BACKGROUND_CODE))
