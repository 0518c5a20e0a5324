"""Build the provider of the system model from its settings."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from runtime.llm.models.daemon import Daemon, Patience, parse_address
from runtime.llm.models.system.file import Declared, Generate, ManagedFile
from runtime.llm.models.system.ollama import PULL_STALL_S, Ollama
from runtime.llm.models.system.openai import OpenAiDaemon
from runtime.llm.models.system.settings import OLLAMA_URL, SysmodelSettings
from runtime.llm.models.system.state import Provider
from runtime.places import MODELS

BUNDLED = MODELS / "paddock-coach.gguf"
"""The small model that ships with the project; its description lies next to it."""

_DEFAULT_CONTEXT = 2048


def build(
    settings: SysmodelSettings,
    data_dir: Path,
    generate: Generate,
    *,
    bundled: Path = BUNDLED,
) -> Provider:
    """Make the provider that *settings* describe; reads small files, so call it at start-up.

    Raises `ValueError` that names the setting if a model file has no description.
    """
    if not settings.enabled:
        return Provider("disabled")
    match settings.provider:
        case "none":
            return Provider()
        case "openai_http" | "ollama":
            return _make_daemon(settings)
        case "auto" if not bundled.is_file():
            return Provider()
        case "auto" if _read_card(bundled) is None:
            return Provider("model_card_unreadable")
    folder = data_dir / "sysmodel"
    declared = _declare_file(settings, folder, bundled)
    record = folder / f"{declared.sha256}.json"
    return ManagedFile(declared, generate, record, settings)


def _make_daemon(settings: SysmodelSettings) -> OpenAiDaemon:
    remote, key = settings.allow_remote, settings.api_key
    if settings.provider == "openai_http":
        address = parse_address(settings.url or "", allow_remote=remote)
        return OpenAiDaemon(Daemon(address, key=key), settings)
    address = parse_address(settings.url or OLLAMA_URL, allow_remote=remote, socket_base="")
    # A pull is silent while a large layer is verified; its own progress limit applies first.
    patient = Patience(first_s=2 * PULL_STALL_S, stall_s=2 * PULL_STALL_S)
    pulling = Daemon(address, key=key, patience=patient)
    return Ollama(Daemon(address, key=key), settings, pulling)


class _Card(BaseModel):
    """The JSON description next to a model file."""

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]
    size: int | None = Field(None, gt=0)
    context_tokens: int = Field(_DEFAULT_CONTEXT, gt=0)
    temperature: float | None = Field(None, ge=0, le=2)


def _declare_file(settings: SysmodelSettings, folder: Path, bundled: Path) -> Declared:
    """The declared file: downloaded, named by path, or bundled."""
    sha256, size, context = settings.sha256 or "", settings.size, settings.context_tokens
    sha256 = sha256.lower()
    path = settings.path or bundled
    temperature = None
    if settings.url is not None:
        path = folder / f"{sha256}.gguf"
    elif (card := _read_card(path)) is not None:
        sha256, size = sha256 or card.sha256, size or card.size
        context = context or card.context_tokens
        temperature = card.temperature
    if not sha256:
        raise ValueError(
            "sysmodel.sha256 is required: no description next to the model file has a checksum"
        )
    return Declared(path, sha256, size, context or _DEFAULT_CONTEXT, settings.url, temperature)


def _read_card(model: Path) -> _Card | None:
    try:
        return _Card.model_validate_json(model.with_suffix(".json").read_bytes())
    except (OSError, ValueError):
        return None
