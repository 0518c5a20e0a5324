"""Settings from file, environment and flags, and the one line that a mistake costs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from runtime.web.settings import BadSettings, Clamp, Settings, read


class Engine(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field("http://localhost", description="where the engine is")
    token: SecretStr = SecretStr("")
    depth: Annotated[int, Clamp(1, 8)] = 2


class Server(Settings):
    """A server for the tests."""

    model_config = SettingsConfigDict(env_prefix="TESTSVC_", cli_prog_name="testsvc")

    server_port: Annotated[int, Clamp(1024, 65535, also=(0,))] = Field(8080, description="port")
    api_key: SecretStr = SecretStr("")
    bind_lan: bool = Field(False, description="listen on every address")
    temperature: Annotated[float, Clamp(0, 2)] = 0.8
    ratio: float = 1.0
    workers: int = Field(1, ge=1, le=4)
    hosts: list[str] = Field(default_factory=list, description="more host names")
    kind: Literal["cpu", "gpu"] | None = None
    data_dir: Path = Path("data")
    engine: Engine = Engine()

    @model_validator(mode="after")
    def _fits(self) -> "Server":
        if self.kind == "gpu" and self.workers > 1:
            raise ValueError("a gpu has one worker")
        return self


File = Callable[[str], str]


@pytest.fixture
def file(tmp_path: Path) -> File:
    """Write a settings file; the result is its path."""

    def write(text: str) -> str:
        path = tmp_path / "server.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_without_anything_the_defaults_hold() -> None:
    settings = read(Server, [], {})
    assert settings == Server()
    assert settings.notes == ()


def test_flags_beat_the_environment_and_that_beats_the_file(file: File) -> None:
    path = file('server_port = 2001\nworkers = 2\ntemperature = 1\nhosts = ["a"]\n')
    environ = {"TESTSVC_SERVER_PORT": "2002", "TESTSVC_WORKERS": "3", "SERVER_PORT": "9"}
    settings = read(Server, ["--config", path, "--server-port", "2003"], environ)
    assert settings.server_port == 2003
    assert settings.workers == 3
    assert settings.temperature == 1.0
    assert settings.hosts == ["a"]
    assert settings.config == Path(path)


def test_the_environment_can_name_the_file(file: File) -> None:
    assert read(Server, [], {"TESTSVC_CONFIG": file("workers = 4")}).workers == 4


def test_the_programs_own_environment_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTSVC_WORKERS", "4")
    assert read(Server, [], {}).workers == 1


@pytest.mark.parametrize(
    ("argv", "environ"),
    [
        (["--engine.url", "http://x"], {}),
        ([], {"TESTSVC_ENGINE__URL": "http://x"}),
        (["--engine.url=http://x"], {"TESTSVC_ENGINE__URL": "http://y"}),
    ],
)
def test_tables_nest(argv: list[str], environ: Mapping[str, str], file: File) -> None:
    path = file('[engine]\nurl = "http://z"\ndepth = 3\n')
    settings = read(Server, ["--config", path, *argv], environ)
    assert (settings.engine.url, settings.engine.depth) == ("http://x", 3)


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        (["--hosts", "a,b"], {}, ["a", "b"]),
        (["--hosts", "a", "--hosts", "b"], {}, ["a", "b"]),
        ([], {"TESTSVC_HOSTS": " a, b ,"}, ["a", "b"]),
        ([], {"TESTSVC_HOSTS": '["a", "b"]'}, ["a", "b"]),
        ([], {"TESTSVC_HOSTS": ""}, []),
    ],
)
def test_lists_are_written_with_commas(
    argv: list[str], environ: Mapping[str, str], expected: list[str]
) -> None:
    assert read(Server, argv, environ).hosts == expected


@pytest.mark.parametrize(
    ("argv", "expected"), [(["--bind-lan"], True), (["--no-bind-lan"], False), ([], True)]
)
def test_switches_need_no_value(argv: list[str], expected: bool) -> None:
    assert read(Server, argv, {"TESTSVC_BIND_LAN": "true"}).bind_lan is expected


def test_secrets_come_from_environment_or_file(file: File) -> None:
    path = file('api_key = "one"\n[engine]\ntoken = "two"\n')
    settings = read(Server, ["--config", path], {"TESTSVC_API_KEY": "three"})
    assert settings.api_key.get_secret_value() == "three"
    assert settings.engine.token.get_secret_value() == "two"
    assert "three" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "used", "note"),
    [
        ("1", 1024, "TESTSVC_SERVER_PORT: 1 is out of range, 1024 is used"),
        ("99999", 65535, "TESTSVC_SERVER_PORT: 99999 is out of range, 65535 is used"),
        ("0", 0, None),
        ("1024", 1024, None),
    ],
)
def test_values_out_of_range_are_pulled_in_with_a_note(
    given: str, used: int, note: str | None
) -> None:
    settings = read(Server, [], {"TESTSVC_SERVER_PORT": given})
    assert settings.server_port == used
    assert settings.notes == ((note,) if note else ())


def test_a_clamp_holds_in_tables_and_in_code(file: File) -> None:
    path = file("[engine]\ndepth = 99\n")
    settings = read(Server, ["--config", path], {})
    assert settings.engine.depth == 8
    assert settings.notes == (f"{path}: engine.depth: 99 is out of range, 8 is used",)
    assert Server(temperature=3).temperature == 2.0


WRONG_FILES = [
    ('server_port = "8080"', "server_port: input should be a valid integer"),
    ("server_port = 80.5", "server_port: input should be a valid integer"),
    ("bind_lan = 1", "bind_lan: input should be a valid boolean"),
    ("temperature = nan", "temperature: "),
    ('hosts = "a"', "hosts: input should be a valid array"),
    ("api_key = 7", "api_key: input should be a valid string"),
    ('kind = "tpu"', "kind: input should be 'cpu' or 'gpu'"),
    ("data_dir = 3", "data_dir: "),
    ("workers = 9", "workers: input should be less than or equal to 4"),
    ("engine = 3", "engine: must be a table"),
    ("[engine]\ndepth = true", "engine.depth: input should be a valid integer"),
    ("sever_port = 1", "sever_port is not a setting; did you mean server_port?"),
    ("[engine]\nulr = 1", "engine.ulr is not a setting; did you mean engine.url?"),
    ("zzz = 1", "zzz is not a setting"),
    ('config = "x"', "config is not a setting"),
    ("a =", "not valid TOML: "),
    ("workers = 1\nworkers = 2", "not valid TOML: "),
    ("x = " + "[" * 5000, "not valid TOML: "),
    ("#" * 300_000, "over 262144 bytes"),
]


@pytest.mark.parametrize(("text", "words"), WRONG_FILES, ids=[w[0][:20] for w in WRONG_FILES])
def test_a_mistake_in_the_file_names_file_and_key(text: str, words: str, file: File) -> None:
    path = file(text)
    with pytest.raises(BadSettings) as found:
        read(Server, ["--config", path], {})
    message = str(found.value)
    assert message.startswith(f"{path}: ")
    assert words in message
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(BadSettings, match="directory"):
            read(Server, ["--config", str(path)], {})
    (tmp_path / "latin.toml").write_bytes(b'hosts = ["\xe9"]')
    with pytest.raises(BadSettings, match="not valid TOML"):
        read(Server, ["--config", str(tmp_path / "latin.toml")], {})


@pytest.mark.parametrize(
    ("argv", "environ", "words"),
    [
        (["--server-port", "x"], {}, "--server-port: input should be a valid integer"),
        (["--workers", "9"], {}, "--workers: "),
        (["--server-port"], {}, "--server-port: expected one argument"),
        (["--engine.depth", "x"], {}, "--engine.depth: "),
        (["--kind", "tpu"], {}, "--kind: input should be 'cpu' or 'gpu'"),
        (["--nothing"], {}, "unrecognized arguments: --nothing"),
        (["extra"], {}, "unrecognized arguments: extra"),
        ([], {"TESTSVC_BIND_LAN": "perhaps"}, "TESTSVC_BIND_LAN: input should be a valid boolean"),
        ([], {"TESTSVC_SERVER_PORT": ""}, "TESTSVC_SERVER_PORT: "),
        ([], {"TESTSVC_HOSTS": "[1"}, "TESTSVC_HOSTS: "),
        (["--kind", "gpu", "--workers", "2"], {}, "a gpu has one worker"),
        (["--temperature", "nan"], {}, "--temperature: input should be a finite number"),
        (["--temperature=-inf"], {}, "--temperature: input should be a finite number"),
        ([], {"TESTSVC_TEMPERATURE": "inf"}, "TESTSVC_TEMPERATURE: input should be a finite"),
        (["--ratio", "nan"], {}, "--ratio: input should be a finite number"),
        ([], {"TESTSVC_API_KEI": "hunter2"}, "TESTSVC_API_KEI is not a setting"),
        ([], {"TESTSVC_API_KEI": "hunter2"}, "; did you mean TESTSVC_API_KEY?"),
        ([], {"TESTSVC_ENGINE_URL": "x"}, "; did you mean TESTSVC_ENGINE__URL?"),
        ([], {"TestSvc_Workers": "2"}, "TestSvc_Workers is not a setting of the environment; did"),
        ([], {"TESTSVC_": "x"}, "TESTSVC_ is not a setting"),
    ],
)
def test_a_mistake_elsewhere_names_flag_or_variable(
    argv: list[str], environ: Mapping[str, str], words: str
) -> None:
    with pytest.raises(BadSettings) as found:
        read(Server, argv, environ)
    assert words in str(found.value)
    assert "\n" not in str(found.value)
    assert "hunter2" not in str(found.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_setting_made_in_code_has_to_be_finite_too(value: float) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Server(temperature=value)
    with pytest.raises(ValueError, match="finite number"):
        Clamp(0, 1).pull(value)


def test_the_environment_of_other_programs_is_not_judged() -> None:
    environ = {"PATH": "/bin", "TESTSVC": "x", "OTHER_TESTSVC_WORKERS": "7"}
    assert read(Server, [], environ) == Server()


@pytest.mark.parametrize("argv", [["--api-key", "hunter2"], ["--engine.token=hunter2"]])
def test_a_secret_is_never_a_flag_and_never_repeated(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as found:
        Server.load(argv, {})
    said = capsys.readouterr()
    assert found.value.code == 2
    assert "a secret cannot be a flag" in said.err
    assert "hunter2" not in said.err + said.out


def test_a_mistake_costs_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as found:
        Server.load(["--workers", "many"], {})
    said = capsys.readouterr()
    assert found.value.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("testsvc: --workers: input should be a valid integer")


def test_help_shows_every_flag_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as found:
        Server.load(["--help"], {})
    text = capsys.readouterr().out
    assert found.value.code == 0
    expected = "config server-port bind-lan temperature workers hosts kind data-dir engine.url"
    for flag in expected.split():
        assert f"--{flag}" in text
    assert "A server for the tests." in text
    assert "api" not in text
    assert "token" not in text
