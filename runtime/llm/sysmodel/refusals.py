"""Turns a state of the system model into the error that says why it cannot answer."""

from collections.abc import Sequence

from runtime.llm.errors import (
    RichError,
    SysmodelDownloadable,
    SysmodelDownloading,
    SysmodelUnavailable,
    SysmodelUnknown,
)
from runtime.llm.sysmodel.base import Availability, ProbeError, Status

_WAIT_S = 30
_WHY = {
    "not_configured": "no system model is configured on this machine",
    "disabled": "the system model is switched off in the settings",
    "offline": "the system model's file is missing and this server may not download it",
    "file_missing": "the system model's file is missing",
    "disk_full": "there is not enough free space for the system model",
    "size_mismatch": "the system model's file has not the declared size",
    "checksum_mismatch": "the system model's file is not the one that was declared",
    "model_not_listed": "the daemon of the system model does not have the configured model",
    "model_not_chosen": "the daemon of the system model has several models and none is chosen",
    "no_model": "the daemon of the system model has no model",
    "model_failed": "the daemon of the system model could not load it",
    "model_card_unreadable": "the description of the bundled system model cannot be read",
}


def refusal(state: Availability | ProbeError, local_models: Sequence[str] = ()) -> RichError | None:
    """The error for a chat in this *state*; None when the system model is available."""
    named = tuple(local_models)
    if isinstance(state, ProbeError):
        text = f"the state of the system model cannot be read: {state}"
        return SysmodelUnavailable(text, local_models=named)
    match state.code:
        case Status.AVAILABLE:
            return None
        case Status.DOWNLOADABLE:
            return SysmodelDownloadable(_downloadable(state))
        case Status.DOWNLOADING:
            wait_s = state.retry_after_s or _WAIT_S
            return SysmodelDownloading(_downloading(state), retry_after=wait_s)
        case Status.UNAVAILABLE:
            text = _WHY.get(state.reason or "", "there is no system model on this machine")
            return SysmodelUnavailable(text, local_models=named)
        case unknown:
            return SysmodelUnknown(unknown)


def _downloadable(state: Availability) -> str:
    after = f" (the last attempt failed: {state.reason})" if state.reason else ""
    return f"the system model can be downloaded and is not on this machine yet{after}"


def _downloading(state: Availability) -> str:
    if state.reason == "verifying":
        return "the system model's file is being checked"
    share = f" ({state.progress:.0%})" if state.progress is not None else ""
    return f"the system model is being downloaded{share}"
