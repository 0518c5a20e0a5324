"""Which provider the settings of the system model describe."""

import json
from collections.abc import Mapping
from pathlib import Path

from runtime.llm.models.system.daemon import Daemon, Patience, parse_address
from runtime.llm.models.system.file import Declared, Generate, ManagedFile
from runtime.llm.models.system.ollama import PULL_STALL_S, Ollama
from runtime.llm.models.system.settings import OLLAMA_URL, SHA256, SysmodelSettings
from runtime.llm.models.system.state import Provider
from runtime.llm.models.system.upstream import Upstream

BUNDLED = Path(__file__).resolve().parents[4] / "data" / "models" / "paddock-coach.gguf"
"""The small model that comes with the project; its description lies beside it."""

_DEFAULT_CONTEXT = 2048


def build(
    settings: SysmodelSettings,
    data_dir: Path,
    generate: Generate,
    *,
    bundled: Path = BUNDLED,
) -> Provider:
    """The provider that *settings* describe; reads small files, so call it at the start.

    Raises `ValueError`, which names the key, when a file that the settings name is not described.
    """
    if not settings.enabled:
        return Provider("disabled")
    match settings.provider:
        case "none":
            return Provider()
        case "openai_http" | "ollama":
            return _upstream(settings)
        case "auto" if not bundled.is_file():
            return Provider()
        case "auto" if _card(bundled) is None:
            return Provider("model_card_unreadable")
    folder = data_dir / "sysmodel"
    declared = _declared(settings, folder, bundled)
    record = folder / f"{declared.sha256}.json"
    return ManagedFile(declared, generate, record, settings)


def _upstream(settings: SysmodelSettings) -> Upstream:
    remote, key = settings.allow_remote, settings.api_key
    if settings.provider == "openai_http":
        address = parse_address(settings.url or "", allow_remote=remote)
        return Upstream(Daemon(address, key=key), settings)
    address = parse_address(settings.url or OLLAMA_URL, allow_remote=remote, socket_base="")
    # A pull is silent while a large layer is checked; its own limit on progress comes first.
    patient = Patience(first_s=2 * PULL_STALL_S, stall_s=2 * PULL_STALL_S)
    pulling = Daemon(address, key=key, patience=patient)
    return Ollama(Daemon(address, key=key), settings, pulling)


def _declared(settings: SysmodelSettings, folder: Path, bundled: Path) -> Declared:
    """The file: downloaded, named by path, or the bundled one."""
    context = settings.context_tokens
    if settings.url is not None:
        sha256 = (settings.sha256 or "").lower()
        path = folder / f"{sha256}.gguf"
        return Declared(path, sha256, settings.size, context or _DEFAULT_CONTEXT, settings.url)
    path = settings.path or bundled
    card = _card(path) or {}
    sha256 = (settings.sha256 or str(card.get("sha256", ""))).lower()
    if not sha256:
        raise ValueError(
            "sysmodel.sha256 is needed: no description with a checksum lies beside the model file"
        )
    known = _positive(card, "context_tokens") or _DEFAULT_CONTEXT
    return Declared(path, sha256, settings.size or _positive(card, "size"), context or known)


def _card(model: Path) -> Mapping[str, object] | None:
    """The JSON description beside *model*, when it has a checksum."""
    try:
        card = json.loads(model.with_suffix(".json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(card, dict) or not isinstance(card.get("sha256"), str):
        return None
    return card if SHA256.fullmatch(card["sha256"].lower()) else None


def _positive(card: Mapping[str, object], key: str) -> int | None:
    value = card.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
