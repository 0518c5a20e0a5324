"""The settings of the system model."""

import re
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

from runtime.llm.models.daemon import parse_address
from runtime.llm.models.download import check_source
from runtime.llm.models.system.foreground import Policy
from runtime.llm.models.system.state import Cell
from runtime.web.access import check_key

OLLAMA_URL = "http://127.0.0.1:11434"
_SHA256 = re.compile(r"[0-9a-f]{64}")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256)]


class SysmodelSettings(BaseModel):
    """Which provider serves the built-in system model, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    provider: Literal["auto", "none", "openai_http", "ollama", "managed_gguf"] = Field(
        "auto", description="auto: the bundled model if it is present, else none"
    )
    enabled: bool = Field(True, description="false switches the system model off")
    url: str | None = Field(
        None,
        max_length=2048,
        description="address of the daemon (http://host:port/base or unix:/path), "
        "or download address of the managed_gguf file",
    )
    model: Name | None = Field(None, description="the daemon's name of the model")
    variants: dict[Cell, Name] = Field(
        default_factory=dict, description="further models, only for the detailed status"
    )
    api_key: Annotated[SecretStr | None, AfterValidator(check_key)] = Field(
        None, description="bearer key for the daemon"
    )
    allow_remote: bool = Field(False, description="allow a daemon on another machine (https)")
    path: Path | None = Field(None, description="managed_gguf: path of an existing file")
    sha256: str | None = Field(None, description="managed_gguf: SHA-256 of the file, hexadecimal")
    size: int | None = Field(None, ge=1, le=1 << 42, description="managed_gguf: bytes of the file")
    context_tokens: int | None = Field(
        None,
        ge=64,
        le=1 << 20,
        description="managed_gguf: total token budget; default: the model's own",
    )
    auto_download: bool = Field(False, description="start the download with the first chat")
    offline: bool = Field(False, description="never download")
    pull: bool = Field(False, description="ollama: allow downloads through the daemon")
    flatten: bool = Field(False, description="send the conversation as a single prompt")
    max_concurrency: int = Field(1, ge=1, le=64, description="concurrent requests")
    share_cpu_lane: bool = Field(False, description="managed_gguf: take turns with local models")
    foreground_policy: Policy = Field("off", description="condition for managed_gguf to answer")
    download_stall_s: float = Field(
        120.0, gt=0, le=3600, description="downloads: time without progress"
    )
    download_bytes_per_s: int | None = Field(None, ge=1024, description="speed limit of downloads")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        checks = {
            "auto": self._check_unused,
            "none": self._check_unused,
            "openai_http": self._check_daemon,
            "ollama": self._check_daemon,
            "managed_gguf": self._check_file,
        }
        checks[self.provider]()
        return self

    def _check_unused(self) -> None:
        for key in ("url", "path", "model", "sha256"):
            if getattr(self, key) is not None:
                raise ValueError(
                    f"sysmodel.{key} has no effect when sysmodel.provider is {self.provider}"
                )

    def _check_daemon(self) -> None:
        if self.url is None and self.provider == "openai_http":
            raise ValueError("sysmodel.url is required when sysmodel.provider is openai_http")
        if self.pull and self.model is None:
            raise ValueError("sysmodel.model is required when sysmodel.pull is true")
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
            raise ValueError("sysmodel.path and sysmodel.url are mutually exclusive")
        if self.path is not None and not self.path.is_absolute():
            raise ValueError("sysmodel.path must be an absolute path")
        if self.url is None:
            return
        for key in ("sha256", "size"):
            if getattr(self, key) is None:
                raise ValueError(f"sysmodel.{key} is required with sysmodel.url")
        try:
            check_source(self.url)
        except ValueError as failure:
            raise ValueError(f"sysmodel.url {failure}") from None
