"""The settings of the system model and the provider that they describe."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)

from runtime.llm.models.download import Pace, check_source
from runtime.llm.models.system.daemon import Daemon, Patience, parse_address
from runtime.llm.models.system.file import Declared, Generate, ManagedFile, Options
from runtime.llm.models.system.foreground import Gate, Policy
from runtime.llm.models.system.ollama import PULL_STALL_S, Ollama
from runtime.llm.models.system.state import Cell, NoSystemModel, Provider
from runtime.llm.models.system.upstream import Upstream, UpstreamSettings
from runtime.web.auth import check_key

BUNDLED = Path(__file__).resolve().parents[4] / "data" / "models" / "paddock-coach.gguf"
"""The small model that comes with the project; its description lies beside it."""

OLLAMA_URL = "http://127.0.0.1:11434"
_DEFAULT_CONTEXT = 2048
_SHA256 = re.compile(r"[0-9a-f]{64}")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256)]


class SysmodelSettings(BaseModel):
    """What plays the built-in system model, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    provider: Literal["auto", "none", "openai_http", "ollama", "managed_gguf"] = Field(
        "auto", description="auto: the bundled model where it is present, else none"
    )
    enabled: bool = Field(True, description="false switches the system model off")
    url: str | None = Field(
        None,
        max_length=2048,
        description="the daemon's address (http://host:port/base or unix:/path), "
        "or where managed_gguf downloads its file from",
    )
    model: Name | None = Field(None, description="the model as the daemon names it")
    variants: dict[Cell, Name] = Field(
        default_factory=dict, description="further models, for the detailed status only"
    )
    api_key: Annotated[SecretStr | None, AfterValidator(check_key)] = Field(
        None, description="bearer key for the daemon"
    )
    allow_remote: bool = Field(False, description="let the daemon be on another machine (https)")
    path: Path | None = Field(None, description="managed_gguf: a file that is already here")
    sha256: str | None = Field(None, description="managed_gguf: SHA-256 of the file, hexadecimal")
    size: int | None = Field(None, ge=1, le=1 << 42, description="managed_gguf: bytes of the file")
    context_tokens: int | None = Field(
        None,
        ge=64,
        le=1 << 20,
        description="managed_gguf: total token budget; none: the model's own",
    )
    auto_download: bool = Field(False, description="the first chat starts the download by itself")
    offline: bool = Field(False, description="never download")
    pull: bool = Field(False, description="ollama: permit downloads through the daemon")
    flatten: bool = Field(False, description="send the history as one prompt, not as messages")
    max_concurrency: int = Field(1, ge=1, le=64, description="requests inside at the same time")
    share_cpu_lane: bool = Field(False, description="managed_gguf: take turns with local models")
    foreground_policy: Policy = Field("off", description="when managed_gguf may answer")
    download_stall_s: float = Field(120.0, gt=0, le=3600, description="seconds without progress")
    download_bytes_per_s: int | None = Field(None, ge=1024, description="speed limit")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        checks = {
            "auto": self._check_own,
            "none": self._check_own,
            "openai_http": self._check_daemon,
            "ollama": self._check_daemon,
            "managed_gguf": self._check_file,
        }
        checks[self.provider]()
        return self

    def _check_own(self) -> None:
        for key in ("url", "path", "model", "sha256"):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"sysmodel.{key} has no effect while sysmodel.provider is {self.provider}"
                )

    def _check_daemon(self) -> None:
        if self.url is None and self.provider == "openai_http":
            raise ValueError("sysmodel.url is needed when sysmodel.provider is openai_http")
        if self.pull and self.model is None:
            raise ValueError("sysmodel.model is needed when sysmodel.pull is true")
        try:
            parse_address(
                OLLAMA_URL if self.url is None else self.url, allow_remote=self.allow_remote
            )
        except ValueError as failure:
            raise ValueError(f"sysmodel.url {failure}") from None

    def _check_file(self) -> None:
        if self.sha256 is not None and not _SHA256.fullmatch(self.sha256.lower()):
            raise ValueError("sysmodel.sha256 must be 64 hexadecimal digits")
        if self.path is not None and self.url is not None:
            raise ValueError("sysmodel.path and sysmodel.url exclude each other")
        if self.path is not None and not self.path.is_absolute():
            raise ValueError("sysmodel.path must be a full path")
        if self.url is None:
            return
        for key in ("sha256", "size"):
            if getattr(self, key) is None:
                raise ValueError(f"sysmodel.{key} is needed with sysmodel.url")
        try:
            check_source(self.url)
        except ValueError as failure:
            raise ValueError(f"sysmodel.url {failure}") from None


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
        return NoSystemModel("disabled")
    match settings.provider:
        case "none":
            return NoSystemModel()
        case "openai_http" | "ollama":
            return _upstream(settings)
        case "auto" if not bundled.is_file():
            return NoSystemModel()
        case "auto" if _card(bundled) is None:
            return NoSystemModel("model_card_unreadable")
    folder = data_dir / "sysmodel"
    declared = _declared(settings, folder, bundled)
    record = folder / f"{declared.sha256}.json"
    return ManagedFile(declared, generate, record, _options(settings))


def _upstream(settings: SysmodelSettings) -> Upstream:
    use = UpstreamSettings(
        model=settings.model,
        variants=settings.variants,
        flat=settings.flatten,
        max_concurrency=settings.max_concurrency,
        pull=settings.pull and not settings.offline,
    )
    remote, key = settings.allow_remote, settings.api_key
    if settings.provider == "openai_http":
        return Upstream(
            Daemon(parse_address(settings.url or "", allow_remote=remote), key=key), use
        )
    address = parse_address(settings.url or OLLAMA_URL, allow_remote=remote, socket_base="")
    # A pull is silent while a large layer is checked; its own limit on progress comes first.
    patient = Patience(first_s=2 * PULL_STALL_S, stall_s=2 * PULL_STALL_S)
    pulling = Daemon(address, key=key, patience=patient)
    return Ollama(Daemon(address, key=key), use, pulling=pulling)


def _options(settings: SysmodelSettings) -> Options:
    return Options(
        offline=settings.offline,
        flat=settings.flatten,
        max_concurrency=settings.max_concurrency,
        gate=Gate(settings.foreground_policy),
        pace=Pace(settings.download_stall_s, settings.download_bytes_per_s),
    )


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
    return card if _SHA256.fullmatch(card["sha256"].lower()) else None


def _positive(card: Mapping[str, object], key: str) -> int | None:
    value = card.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
