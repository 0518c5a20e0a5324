"""The settings of the language-model server: flags, environment and file in one class."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import psutil
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from runtime.llm.inference import MAX_PARALLEL, SYSTEM_MODEL
from runtime.llm.models.download import check_source
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.upstreams.fleet import parse_upstream
from runtime.places import name_program, user_data_dir
from runtime.web.access import HostNames, Origins, check_key
from runtime.web.bodies import BUDGET_BYTES
from runtime.web.settings import Clamp, Settings

PROGRAM: Final = name_program("llm")
SESSION_BYTES_LIMIT: Final = 2 << 30
Feature = Literal["stop", "length", "tools", "format", "sampling", "max_tokens"]
"""What general OpenAI clients expect and is off by default."""
FEATURES: Final[Mapping[Feature, str]] = {
    "stop": "honor_stop",
    "length": "report_length",
    "tools": "honor_tools",
    "format": "honor_format",
    "sampling": "honor_sampling",
    "max_tokens": "output_max_tokens",
}
"""The setting of each feature."""


def _check_folder(path: object) -> object:
    if isinstance(path, str) and (not path.strip() or "\0" in path):
        raise ValueError("must name a folder")
    return path


def _check_upstreams(urls: list[str]) -> list[str]:
    """The trimmed addresses. Raises ValueError for an invalid or repeated one."""
    trimmed = [url.strip().rstrip("/") for url in urls]
    for number, url in enumerate(trimmed):
        try:
            parse_upstream(url)
        except ValueError as problem:
            raise ValueError(f"number {number + 1} {problem}") from None
    if len(set(trimmed)) < len(trimmed):
        raise ValueError("names an upstream twice")
    return trimmed


def _check_keys(keys: list[SecretStr]) -> list[SecretStr]:
    return [check_key(key) or key for key in keys]


def _check_model(name: str) -> str:
    """The trimmed id of a model, or the default if it is blank. Raises ValueError for a path."""
    trimmed = name.strip()
    if trimmed.startswith((".", "/")) or set(trimmed) & set("\\\0"):
        raise ValueError("must be an id of GET /v1/models, not a path")
    return trimmed or SYSTEM_MODEL


class LlmSettings(Settings):
    """On-device language-model server."""

    model_config = SettingsConfigDict(env_prefix="LLMSVC_", cli_prog_name=PROGRAM)

    server_port: Annotated[int, Clamp(1024, 65535, also=(0,))] = Field(
        8080, description="port to listen on; 0: any free port; also --port"
    )
    bind_lan: bool = Field(False, description="listen on every interface and announce by mDNS")
    api_key: Annotated[SecretStr, AfterValidator(check_key)] = Field(
        SecretStr(""), description="key for all protected routes; empty: open"
    )
    allow_cors: bool = Field(False, description="allow pages from cors_origins to call the server")
    cors_origins: Origins = Field(
        [], description="origins with scheme and port; *: any; empty: loopback origins"
    )
    allowed_hosts: HostNames = Field([], description="additional host names to accept")
    models_dir: Annotated[Path | None, BeforeValidator(_check_folder)] = Field(
        None, description="folder of model files; default: data_dir/models"
    )
    model_hub: Annotated[str, AfterValidator(check_source)] = Field(
        "https://huggingface.co", description="hub or mirror for `pull hf:owner/repo:file`"
    )
    data_dir: Annotated[Path, BeforeValidator(_check_folder)] = Field(
        default_factory=user_data_dir, description="folder of the server's data"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="lowest level to log, as JSON lines on standard error"
    )

    selected_model_id: Annotated[str, AfterValidator(_check_model)] = Field(
        SYSTEM_MODEL, description="model for requests that name none"
    )
    temperature: Annotated[float, Clamp(0.0, 2.0)] = Field(
        0.8, description="temperature for requests without one; 0: greedy"
    )
    top_k: Annotated[int, Clamp(1, 200)] = Field(40, description="top_k for requests without one")
    top_p: Annotated[float, Clamp(0.01, 1.0)] = Field(
        0.95, description="top_p for requests without one"
    )
    default_context: Annotated[int, Clamp(256, 1 << 20)] = Field(
        4096, description="token budget for models that declare none, capped at the trained context"
    )
    threads: Annotated[int, Clamp(0, 256)] = Field(
        0, description="engine threads; 0: measured for replies, all cores for prompts"
    )
    parallel: Annotated[int, Clamp(0, MAX_PARALLEL)] = Field(
        1, description="replies that a local engine generates side by side; 0: measured"
    )
    prefix_cache: bool = Field(
        True, description="without session_id, reuse prefixes shared with the client's prompts"
    )
    compat: bool = Field(
        False,
        description="as general OpenAI clients expect: honor_*, report_length, output_max_tokens",
    )
    honor_stop: bool | None = Field(
        None, description="apply the stop texts of requests; default: as compat"
    )
    report_length: bool | None = Field(
        None, description="report length when a budget cut the text; default: as compat"
    )
    honor_tools: bool | None = Field(
        None, description="apply tools, tool_choice and chat_template_kwargs; default: as compat"
    )
    honor_format: bool | None = Field(
        None, description="apply response_format and grammar; default: as compat"
    )
    honor_sampling: bool | None = Field(
        None, description="apply n, logprobs, penalties, min_p and logit_bias; default: as compat"
    )
    output_max_tokens: bool | None = Field(
        None, description="max_tokens limits only the reply; default: as compat"
    )

    upstreams: Annotated[list[str], AfterValidator(_check_upstreams)] = Field(
        [], description="addresses of OpenAI-compatible servers whose models are also served"
    )
    upstream_keys: Annotated[list[SecretStr], AfterValidator(_check_keys)] = Field(
        [], description="bearer keys of the upstreams in the same order; empty: none"
    )
    upstream_connect_ms: Annotated[int, Clamp(100, 60_000)] = Field(
        5_000, description="time limit for connecting to an upstream, before the next one is tried"
    )
    upstream_wait_ms: Annotated[int, Clamp(100, 600_000)] = Field(
        60_000, description="time limit for an upstream's first token and for each further one"
    )
    upstream_parallel: Annotated[int, Clamp(1, 1024)] = Field(
        16, description="concurrent forwarded replies per upstream; further requests queue"
    )

    request_timeout_ms: Annotated[int, Clamp(5_000, 600_000, also=(0,))] = Field(
        120_000, description="time limit for each next token of a reply; 0: off"
    )
    queue_timeout_ms: Annotated[int, Clamp(0, 3_600_000)] = Field(
        0, description="time limit in the queue; 0: as long as the client waits"
    )
    stream_commit_ms: Annotated[int, Clamp(0, 60_000)] = Field(
        10_000, description="how long a stream waits for its model before it sends status 200"
    )
    heartbeat_ms: Annotated[int, Clamp(100, 60_000)] = Field(
        10_000, description="interval of the comments that keep a stream open"
    )
    stall_ms: Annotated[int, Clamp(1_000, 600_000)] = Field(
        30_000, description="disconnect a stream's reader that accepts nothing for this long"
    )
    max_queue_depth: Annotated[int, Clamp(1, 100)] = Field(
        8, description="waiting and running chat requests per client; further ones get 429"
    )
    max_prompt_chars: Annotated[int, Clamp(512, 2_000_000)] = Field(
        100_000, description="total characters of a request's messages"
    )
    max_body_bytes: Annotated[int, Clamp(0, 1 << 30)] = Field(
        0, description="cap on a request body; 0: derived from max_prompt_chars"
    )
    body_budget_bytes: Annotated[int, Clamp(1 << 20, 1 << 40)] = Field(
        BUDGET_BYTES,
        description="memory for all request bodies together, at least the cap of one body; "
        "an address gets half",
    )
    rate_limit_per_sec: Annotated[float, Clamp(0.0, 1000.0)] = Field(
        0.0, description="chat requests per second and client; 0: off"
    )
    rate_limit_burst: Annotated[float, Clamp(1.0, 10_000.0)] = Field(
        10.0, description="burst of requests that an idle client may send at once"
    )
    rate_limit_per_addr: Annotated[float, Clamp(0.0, 1000.0)] = Field(
        0.0, description="chat requests per second and network address; 0: off"
    )

    engine_cache_size: Annotated[int, Clamp(1, 16)] = Field(
        2, description="local engines in memory"
    )
    session_cache_size: Annotated[int, Clamp(1, 16)] = Field(
        4, description="conversations in the KV cache, over all engines"
    )
    session_cache_bytes: Annotated[int, Clamp(0, 1 << 40)] = Field(
        0, description="KV memory of an engine's conversations; 0: 1/4 of RAM, up to 2 GiB"
    )
    session_ttl_ms: Annotated[int, Clamp(0, 1 << 31)] = Field(
        0, description="how long an unused conversation stays cached; 0: until its room is needed"
    )
    session_scope: Literal["client", "global"] = Field(
        "client", description="client: session ids are private to each client"
    )
    load_timeout_ms: Annotated[int, Clamp(1_000, 3_600_000)] = Field(
        300_000, description="time limit for loading a model"
    )
    embedding_cache_size: Annotated[int, Clamp(1, 16)] = Field(
        1, description="embedding models in memory"
    )
    embedding_threads: Annotated[int, Clamp(0, 256)] = Field(
        0, description="threads per embedding model; 0: the physical cores, at most four"
    )
    embedding_queue: Annotated[int, Clamp(1, 10_000)] = Field(
        32, description="waiting embedding requests per client, and twice as many in all; then 429"
    )
    max_chunks: Annotated[int, Clamp(1, 1 << 40)] = Field(
        1_000_000, description="chunks in the document store, over all tenants"
    )
    max_tenants: Annotated[int, Clamp(1, 1 << 30)] = Field(
        10_000, description="tenants with documents"
    )
    exact_search_max: Annotated[int, Clamp(0, 1 << 30)] = Field(
        20_000, description="up to this many chunks of a tenant, search compares with every one"
    )
    search_cache_bytes: Annotated[int, Clamp(1 << 20, 1 << 40)] = Field(
        256 << 20, description="memory for document search; least recently used indexes go first"
    )
    tenant_admin: Literal["open", "key"] = Field(
        "open", description="key: listing and deleting other tenants requires an api_key"
    )
    idle_evict_ms: Annotated[int, Clamp(0, 1 << 31)] = Field(
        300_000, description="unload engines that are idle for this long; 0: never"
    )
    idle_stop_ms: Annotated[int, Clamp(0, 1 << 31)] = Field(
        0, description="stop the server after it is idle for this long; 0: never"
    )
    keep_awake: bool = Field(True, description="keep the machine awake while requests run")
    sysmodel: SysmodelSettings = SysmodelSettings()

    @model_validator(mode="after")
    def _keys_fit(self) -> Self:
        if self.upstream_keys and len(self.upstream_keys) != len(self.upstreams):
            raise ValueError("upstream_keys must have as many entries as upstreams, or none")
        return self

    @property
    def host(self) -> str:
        """The address to listen on."""
        return "0.0.0.0" if self.bind_lan else "127.0.0.1"  # noqa: S104 - the setting requests it

    def honors(self, feature: Feature) -> bool:
        """Whether *feature* is on: its own setting decides, then `compat`."""
        own: bool | None = getattr(self, FEATURES[feature])
        return self.compat if own is None else own

    @property
    def body_cap(self) -> int:
        """Maximum bytes of a chat request's body."""
        return self.max_body_bytes or 4 * self.max_prompt_chars + 65_536

    @property
    def document_chars(self) -> int:
        """Maximum characters of a document's text."""
        return 50 * self.max_prompt_chars

    @property
    def document_body_cap(self) -> int:
        """Maximum bytes of a body with a document."""
        return 4 * self.document_chars + 65_536

    @property
    def models_folder(self) -> Path:
        """The folder of the user's model files."""
        return self.models_dir or self.data_dir / "models"

    @property
    def session_bytes(self) -> int:
        """Bytes of KV memory for the cached conversations of one engine."""
        quarter = psutil.virtual_memory().total // 4
        return self.session_cache_bytes or min(quarter, SESSION_BYTES_LIMIT)
