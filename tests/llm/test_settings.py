"""Settings that can never work are refused by name; what may work later is told as a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.llm import server
from runtime.llm.app import assemble
from runtime.llm.server import _warnings
from runtime.llm.settings import LlmSettings
from runtime.web.settings import BadSettings, read
from tests.llm.serverkit import settings_for

ROOT = Path(__file__).resolve().parents[2]

REFUSED: dict[str, tuple[list[str], dict[str, str], str]] = {
    "no data folder": (["--data-dir", ""], {}, "--data-dir: must name a folder"),
    "a key on the command line": (["--api-key=x"], {}, "LLMSVC_API_KEY"),
    "a word for a number": ([], {"LLMSVC_MAX_QUEUE_DEPTH": "x"}, "LLMSVC_MAX_QUEUE_DEPTH"),
    "a file that is not there": (["--config=nowhere.toml"], {}, "nowhere.toml"),
    "no models folder": (["--models-dir="], {}, "--models-dir: must name a folder"),
    "a key of blanks": ([], {"LLMSVC_API_KEY": "  "}, "LLMSVC_API_KEY: consists of blanks"),
    "a key of two lines": ([], {"LLMSVC_API_KEY": "geheim\nx"}, "LLMSVC_API_KEY: holds a line"),
    "a daemon's key of blanks": (
        [],
        {"LLMSVC_SYSMODEL__API_KEY": "\t"},
        "LLMSVC_SYSMODEL__API_KEY: consists of blanks",
    ),
    "an origin that is a word": (["--cors-origins=nonsense"], {}, "'nonsense' is not an origin"),
    "the second origin": (["--cors-origins=*,x"], {}, "'x' is not an origin"),
    "a host with a scheme": (["--allowed-hosts=http://box"], {}, "'http://box' is not a host name"),
    "a host with a port": (["--allowed-hosts=box:80"], {}, "'box:80' is not a host name"),
    "a path for a model": (["--selected-model-id=../x"], {}, "--selected-model-id: must be an id"),
    "an upstream that is a word": (["--upstreams=http://a/v1,b"], {}, "number 2 must be http"),
    "an upstream in the open": (["--upstreams=http://8.8.8.8/v1"], {}, "number 1 must be https"),
    "an upstream with a key": (["--upstreams=http://a:geheim@b/v1"], {}, "has its own setting"),
    "an upstream twice": (["--upstreams=http://a/v1,http://a/v1/"], {}, "names an upstream twice"),
    "too few upstream keys": (
        ["--upstreams=http://a/v1,http://b/v1"],
        {"LLMSVC_UPSTREAM_KEYS": '["geheim"]'},
        "as many entries as upstreams",
    ),
    "an upstream key of two lines": (
        ["--upstreams=http://a/v1"],
        {"LLMSVC_UPSTREAM_KEYS": '["geheim\\nx"]'},
        "LLMSVC_UPSTREAM_KEYS: holds a line",
    ),
    "an upstream key as a flag": (["--upstream-keys=geheim"], {}, "LLMSVC_UPSTREAM_KEYS"),
    "a daemon without an address": (
        ["--sysmodel.provider=openai_http", "--sysmodel.url="],
        {},
        "sysmodel.url must be",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_never_work_is_refused_in_a_line_that_names_it(case: str) -> None:
    argv, environment, words = REFUSED[case]
    with pytest.raises(BadSettings) as refused:
        read(LlmSettings, argv, environment)

    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert "geheim" not in str(refused.value)


def test_what_browsers_and_operators_write_is_taken() -> None:
    origins = [
        *("*", "null", "http://localhost:*", "https://example.org:8443", "http://[::1]:3000"),
        *("chrome-extension://abcdef", "app://-", "HTTPS://Example.org", "capacitor://localhost:*"),
    ]
    hosts = ["box", "box.local", "box.local.", "192.168.1.2", "[::1]", "::1"]
    environment = {
        "LLMSVC_CORS_ORIGINS": ",".join(["", *origins]),
        "LLMSVC_ALLOWED_HOSTS": ",".join(hosts),
        "LLMSVC_API_KEY": "k e-y\n",
    }
    settings = read(LlmSettings, [], environment)

    assert read(LlmSettings, ["--cors-origins=http://a.b,"], {}).cors_origins == ["http://a.b"]
    assert (settings.cors_origins, settings.allowed_hosts) == (origins, hosts)
    assert settings.api_key.get_secret_value().strip() == "k e-y"


def test_upstreams_come_from_a_flag_the_environment_or_the_file(tmp_path: Path) -> None:
    urls = ["http://gpu1:8000/v1", "https://models.example/v1"]
    file = tmp_path / "llm.toml"
    file.write_text(f'upstreams = {urls}\nupstream_keys = ["geheim", ""]\n', encoding="utf-8")
    given = ",".join(urls)
    keys = {"LLMSVC_UPSTREAM_KEYS": '["geheim", ""]'}

    for settings in (
        read(LlmSettings, [f"--upstreams={given}"], keys),
        read(LlmSettings, [], {"LLMSVC_UPSTREAMS": given, **keys}),
        read(LlmSettings, [f"--config={file}"], {}),
    ):
        assert settings.upstreams == urls
        assert [key.get_secret_value() for key in settings.upstream_keys] == ["geheim", ""]
        assert "geheim" not in repr(settings)
    model = "--selected-model-id=Qwen/Qwen2.5-7B-Instruct"
    assert read(LlmSettings, [model], {}).selected_model_id == "Qwen/Qwen2.5-7B-Instruct"


def test_an_empty_key_is_a_server_without_one_and_a_blank_model_the_default() -> None:
    settings = read(LlmSettings, ["--selected-model-id= "], {"LLMSVC_API_KEY": ""})

    assert settings.api_key.get_secret_value() == ""
    assert settings.selected_model_id == "sysmodel-builtin"
    assert read(LlmSettings, ["--selected-model-id= a "], {}).selected_model_id == "a"


@pytest.mark.parametrize(
    "words",
    [
        ["--data-dir="],
        ["--models-dir=FILE/below"],
        [f"--models-dir=/{'x' * 5000}"],
    ],
)
def test_the_program_ends_with_code_2_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    file, data = tmp_path / "a-file", tmp_path / "data"
    file.touch()
    words = [f"--data-dir={data}", *(word.replace("FILE", str(file)) for word in words)]
    try:
        code: object = server.main(words)
    except SystemExit as leaving:
        code = leaving.code

    said = capsys.readouterr().err
    assert (code, len(said.splitlines())) == (2, 1)
    assert "models_dir" in said or "--data-dir" in said
    assert not data.exists()


def test_what_may_come_later_is_a_warning(tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path, tmp_path / "none", selected_model_id="nope", cors_origins=["http://a.b"]
    )
    notes = list(_warnings(assemble(settings)))

    assert [note.partition(":")[0] for note in notes] == [
        "models_dir",
        "selected_model_id",
        "cors_origins",
    ]


def test_settings_that_work_now_are_no_warning(tmp_path: Path, models: Path) -> None:
    settings = settings_for(tmp_path, models, selected_model_id="recall")
    fresh = settings_for(tmp_path, models, models_dir=None)

    assert list(_warnings(assemble(settings))) == []
    assert list(_warnings(assemble(fresh))) == []


def test_a_reader_that_has_seen_enough_of_the_help_is_no_failure() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "runtime.llm", "--help"],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")
