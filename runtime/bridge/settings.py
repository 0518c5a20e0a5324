"""The settings of the bridge: flags, environment and file in one class."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from runtime.bridge.storage.records import Choice
from runtime.places import BRIDGE_DATA, choose_folder, copy_bridge_data, name_program
from runtime.web.access import HostNames, Origins
from runtime.web.settings import Clamp, Settings

PROGRAM: Final = name_program("bridge")
DEFAULT_TRACK: Final = "larkfell"


class BridgeSettings(Settings):
    """Telemetry and coaching bridge."""

    model_config = SettingsConfigDict(env_prefix="BRIDGE_", cli_prog_name=PROGRAM)

    port: int = Field(8765, ge=0, le=65535, description="port to listen on, 0 for any free one")
    host: str = Field("127.0.0.1", description="address to listen on; others need --allow-remote")
    allow_remote: bool = Field(
        False, description="allow --host to be an address that other machines reach"
    )
    announce: bool = Field(
        False, description="announce the bridge by mDNS, where --host lets other machines in"
    )
    allowed_hosts: HostNames = Field([], description="further host names to accept")
    cors_origins: Origins = Field(
        [], description="origins of pages that may call, as http://pit.example:5173; * for any"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least level that is logged, as JSON lines on standard error"
    )

    data_dir: Path = Field(
        BRIDGE_DATA, description="folder with cars, dbc, tracks, registry and reference"
    )
    db: Path = Field(
        choose_folder(".bridge", "bridge"),
        description="file of the database, made where missing; or its folder",
    )
    db_backend: Choice = Field(
        "auto", description="analytical: DuckDB; lightweight: SQLite; auto: by the machine"
    )
    import_roots: list[Path] = Field(
        [], description="folders that session files may be imported from; empty: any"
    )
    upload_max_mib: Annotated[int, Clamp(1, 512)] = Field(
        256, description="MiB of a session file that is sent to be imported, at most"
    )
    track: str = Field(DEFAULT_TRACK, description="active track: path or id of a track file")

    live_cues: bool = Field(True, description="let the coach speak to live frames")
    spectator_port: int | None = Field(
        None, ge=0, le=65535, description="second port for viewers with a token; absent: none"
    )
    spectator_host: str = Field(
        "0.0.0.0",  # noqa: S104 - viewers are elsewhere, and come with a token
        description="address of the second port",
    )
    require_token_remote: bool = Field(
        False, description="refuse forwarded requests that have no spectator token"
    )

    model_url: str = Field(
        "http://127.0.0.1:8080/v1",
        description="OpenAI-compatible server of the coach's language model; empty: none",
    )
    model_id: str = Field("", description="its model; empty: the first that it lists")
    model_key: SecretStr = Field(SecretStr(""), description="key that it asks for")
    model_timeout_s: Annotated[float, Clamp(1.0, 600.0)] = Field(
        30.0, description="time limit on one answer of the model, the wait in its queue included"
    )
    agent_backend: Literal["openai", "off"] = Field(
        "openai",
        description="openai: a language model may help to word answers; off: questions are refused",
    )
    agent_timeout_s: Annotated[float, Clamp(1.0, 600.0)] = Field(
        45.0, description="limit on the answer to one question"
    )
    agent_char_budget: Annotated[int, Clamp(1_000, 1_000_000)] = Field(
        60_000, description="characters of a conversation that are kept in memory"
    )
    prompt_log: Path | None = Field(
        None, description="file that every prompt and answer is written to, as JSON lines"
    )
    grading_url: str = Field("", description="OpenAI-compatible server of /score, with /v1")
    grading_model: str = Field("", description="its model")
    grading_key: SecretStr = Field(SecretStr(""), description="its key; empty: /score is off")
    course: str = Field(
        "", description="folder or address of the built course; empty: site, if it is there"
    )

    influx_url: str = Field(
        "",
        description="where live points are written to, as "
        "http://127.0.0.1:8086/api/v2/write?org=team&bucket=paddock, or …/write?db=paddock of "
        "InfluxDB 1; empty: nowhere",
    )
    influx_token: SecretStr = Field(
        SecretStr(""), description="its token; of InfluxDB 1 USER:PASSWORD"
    )
    mqtt_url: str = Field(
        "",
        description="broker that live points are published on, as mqtt://USER@HOST:1883/TOPIC, "
        "mqtts for TLS; empty: none",
    )
    mqtt_password: SecretStr = Field(SecretStr(""), description="its password")
    outlet_hz: Annotated[float, Clamp(0.1, 100.0)] = Field(
        10.0, description="frames of a session a second that InfluxDB and MQTT get, at most"
    )

    can_channel: str | None = Field(None, description="serial device or name of the CAN channel")
    can_interface: str = Field("virtual", description="kind of CAN interface; slcan for USB")
    can_bitrate: Annotated[int, Clamp(10_000, 1_000_000)] = Field(
        500_000, description="bits a second of the CAN bus"
    )
    can_car_config: str | None = Field(None, description="car: path or id of a car file")
    can_no_car_config: bool = Field(False, description="decode without a car file")
    can_dbc: list[str] = Field([], description="DBC files, paths or ids; a later one wins")
    can_session_id: str = Field(
        "_live",
        description="session of live frames; one of your own goes on after a restart; "
        "not for --simulate",
    )
    can_flush_ms: Annotated[int, Clamp(10, 5_000)] = Field(
        100, description="pause between two live frames"
    )
    simulate: bool = Field(False, description="drive a synthetic car over the active track")
    sim_seed: int = Field(1, description="what varies in the synthetic drive; one seed, one drive")
    simulate_speed: Annotated[float, Clamp(0.1, 100.0)] = Field(
        1.0, description="speed of the synthetic car's clock"
    )
    simulate_lap_seconds: Annotated[float, Clamp(10.0, 1_200.0)] = Field(
        60.0,
        description="time of a clean synthetic lap; absent: what the usual car needs on a circuit "
        "with a reference line, else this",
    )
    simulate_apart: bool = Field(
        False, description="the synthetic car keeps out of sessions that somebody starts"
    )
    example: bool = Field(
        False, description="store some laps of the synthetic car in a new database"
    )
    check: bool = Field(
        False,
        description="try the configuration, database and ports too, say what is wrong, end",
    )

    @classmethod
    def load(cls, argv: Sequence[str], environ: Mapping[str, str]) -> Self:
        """See `Settings.load`; an installed bridge first fills the user's data folder."""
        settings = super().load(argv, environ)
        if settings.data_dir == BRIDGE_DATA:
            with suppress(OSError):  # whatever needs a missing file reports it
                copy_bridge_data()
        return settings

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.db / "bridge.db" if self.db.is_dir() else self.db

    @property
    def tracks_dir(self) -> Path:
        """Folder of track files."""
        return self.data_dir / "tracks"

    @property
    def cars_dir(self) -> Path:
        """Folder of car files."""
        return self.data_dir / "cars"

    @property
    def car_file(self) -> str | None:
        """The car file in use, if any."""
        return None if self.can_no_car_config else self.can_car_config

    @property
    def registry_file(self) -> Path:
        """The signal catalogue of a new database."""
        return self.data_dir / "registry" / "signals.json"
