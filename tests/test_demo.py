"""`make demo` as a reader runs it: in a terminal, ended with Ctrl-C."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest

from runtime.demo import DidNotStart, Part, Running, alone, choose, main, parts
from runtime.web.instance import AlreadyRunning, claim

ROOT = Path(__file__).resolve().parent.parent
# A pseudo-terminal of its own, in a process of its own: what we write is what is typed.
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
PORTS = [f"--{part}-port=0" for part in ("home", "course", "llm", "bridge")] + ["--no-search"]
PATIENCE_S = 40.0
Launch = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def terminal() -> Iterator[subprocess.Popen[bytes]]:
    ports = ["HOME_PORT=0", "PORT=0", "LLM_PORT=0", "BRIDGE_PORT=0"]
    command = [sys.executable, "-c", TERMINAL, "make", "demo", *ports]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    ) as process:
        yield process
        process.kill()


def read_json(url: str) -> dict[str, object]:
    with urlopen(url) as answer:
        assert answer.status == 200
        found = json.load(answer)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_demo_serves_course_and_coach_and_ctrl_c_ends_it_well(
    terminal: subprocess.Popen[bytes],
) -> None:
    assert terminal.stdin is not None
    assert terminal.stdout is not None
    shown = b""
    while not (base := re.search(rb"OpenAI base URL: (http://[\w.:]+/v1)", shown)):
        piece = terminal.stdout.read(4096)
        assert piece, shown.decode()
        shown += piece
    course = re.search(rb"course +(http://[\w.:]+/)", shown)
    assert course is not None
    assert read_json(f"{course[1].decode()}api/v1/catalog.json")
    models = read_json(f"{base[1].decode()}/models")["data"]
    assert isinstance(models, list)
    assert "sysmodel-builtin" in [model["id"] for model in models]
    bridge = re.search(rb"bridge +(http://[\w.:]+/)", shown)
    assert bridge is not None
    assert read_json(f"{bridge[1].decode()}health")["analytics_db"] is True
    home = re.search(rb"Open (http://[\w.:]+/) and", shown)
    assert home is not None
    status = read_json(f"{home[1].decode()}status")
    assert (status["ready"], status["bridge"]) == (True, bridge[1].decode().rstrip("/"))
    until = time.monotonic() + PATIENCE_S
    while status["car"] is None and time.monotonic() < until:
        status = read_json(f"{home[1].decode()}status")
    assert isinstance(status["car"], dict)
    while status["chat"] == "loading" and time.monotonic() < until:
        status = read_json(f"{home[1].decode()}status")
    assert status["chat"] == "ready"
    with urlopen(home[1].decode()) as answer:
        links = set(re.findall(r'href="(/go/[^"#]*)', answer.read().decode()))
    assert len(links) > 5
    for link in links:
        with urlopen(home[1].decode().rstrip("/") + link) as answer:
            assert answer.status == 200, link
    client = http.client.HTTPConnection(home[1].decode().removeprefix("http://").rstrip("/"))
    for path in ("x%3Fy?session=a%26b%23c&e=%C3%A9", "a?x=%0d%0aSet-Cookie:a=1", "/evil.org/"):
        client.request("GET", f"/go/bridge/{path}")
        reply = client.getresponse()
        reply.read()
        assert (reply.status, reply.headers["Location"]) == (302, f"{status['bridge']}/{path}")
        assert "Set-Cookie" not in reply.headers
    client.request("GET", "/go/evil/")
    assert client.getresponse().status == 404
    client.close()
    terminal.stdin.write(b"\x03")
    rest = terminal.stdout.read()
    assert terminal.wait() == 0, (shown + rest).decode()
    assert b"Traceback" not in shown + rest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "demo"


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Start programs in a session of their own, which ends with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"MAKELEVEL": "1"},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def read_until(pattern: bytes, stream: IO[bytes] | None) -> re.Match[bytes]:
    assert stream is not None
    shown = b""
    while not (found := re.search(pattern, shown, re.DOTALL)):
        piece = stream.read(4096)
        assert piece, shown.decode()
        shown += piece
    return found


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid: int) -> bool:
    try:  # one that has ended and is not yet collected has no command
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_running_demo_refuses_a_second_one_and_takes_its_parts_along_when_it_is_killed(
    launch: Launch, data: Path
) -> None:
    command = [sys.executable, "-m", "runtime", "--data-dir", str(data), *PORTS]
    first = launch(*command)
    bridge = read_until(rb"bridge +(http://[\w.:]+)/ ", first.stdout)[1].decode()

    concepts = read_json(f"{bridge}/coach/concepts")["concepts"]
    assert isinstance(concepts, list)
    assert concepts
    for concept in concepts:
        with urlopen(concept["lesson"]["url"]) as page:
            assert page.status == 200

    second = launch(*command)
    _, words = second.communicate()
    assert second.returncode == 1
    assert re.fullmatch(
        rb"demo: a demo already runs here at http://[\w.:]+/; end it first\n", words
    )

    parts = children_of(first.pid)
    assert len(parts) == 3
    first.kill()
    first.wait()
    try:
        with alone(data):  # waits for the parts
            assert [part for part in parts if runs(part)] == []
    finally:
        for part in parts:
            with contextlib.suppress(ProcessLookupError):
                os.kill(part, signal.SIGKILL)


@pytest.mark.slow
def test_a_demo_ends_when_the_shell_that_make_started_is_told_to(
    launch: Launch, data: Path
) -> None:
    shell = launch(
        *("sh", "-c", '"$@"; exit $?', "sh"),
        *(sys.executable, "-m", "runtime", "--data-dir", str(data), *PORTS),
    )
    read_until(rb"starting the servers", shell.stdout)

    shell.terminate()

    _, words = shell.communicate()  # ends when the demo and the course have closed both
    assert b"Traceback" not in words
    with alone(data):
        pass


def test_a_second_demo_is_told_where_the_first_one_is(data: Path) -> None:
    with alone(data) as (lock, _):
        lock.write("http://127.0.0.1:8000/\n")
        lock.flush()

        with pytest.raises(AlreadyRunning) as refused, alone(data):
            pass

    where = "at http://127.0.0.1:8000/"
    assert str(refused.value) == f"a demo already runs here {where}; end it first"


async def test_a_part_that_does_not_start_is_shown_with_its_last_words(data: Path) -> None:
    program = "import sys; sys.stderr.write('starting\\n\\nthe data is taken\\n'); sys.exit(2)"
    part = Part("bridge", ("-c", program), re.compile("never"))
    with alone(data) as (_, held):
        running = await Running.start(part, held)

        with pytest.raises(DidNotStart) as failed:
            await running.ready()

        await running.stop()
    assert str(failed.value) == "the bridge did not start: the data is taken"


async def test_a_part_that_still_runs_keeps_the_next_demo_waiting_until_it_ends(
    data: Path,
) -> None:
    program = "import signal; print('port 1', flush=True); signal.pause()"
    part = Part("bridge", ("-c", program), re.compile(r"port (1)"))
    with alone(data) as (_, held):
        running = await Running.start(part, held)
        assert await running.ready() == 1

    with pytest.raises(AlreadyRunning):
        claim(data / "parts", "").close()
    await running.stop()

    claim(data / "parts", "").close()


@pytest.mark.skipif(sys.platform != "linux", reason="a folder in which nobody can write")
def test_a_folder_that_cannot_be_used_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data-dir", "/proc/self"]) == 1
    assert capsys.readouterr().err.startswith("demo: /proc/self cannot be used: ")


@pytest.mark.parametrize("port", ["99999", "-1", "65536", "x", "8000.5", ""])
def test_what_is_no_port_is_refused_in_one_line(
    port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--course-port", port])

    said = capsys.readouterr().err
    assert leaving.value.code == 2
    assert said.count("\n") == 1
    assert said.startswith(f"demo: argument --course-port: {port} is not a port; ")


def test_a_taken_port_is_replaced_by_one_that_nobody_else_is_promised_and_the_line_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        chosen = choose([port, port + 1, 0])

    assert port not in chosen
    assert len(set(chosen)) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"demo: port {port} is taken, using {chosen[0]}"
    assert chosen[0] != port + 1


def test_one_port_for_two_parts_goes_to_one_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    (port,) = choose([0])
    assert not capsys.readouterr().err

    chosen = choose([port, port])

    assert chosen[1] == port
    assert capsys.readouterr().err == f"demo: port {port} is meant for two, using {chosen[0]}\n"


@pytest.mark.parametrize("share", [True, False])
def test_only_a_demo_that_shares_lets_other_machines_watch(share: bool, tmp_path: Path) -> None:
    flag = ["SHARE=1"] if share else []
    made = subprocess.run(
        ["make", "-n", "-o", ".venv/.ready", "demo", *flag],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    *_, bridge = parts(tmp_path, 1, 2, 3, share="--share" in made)
    assert ("--spectator-port" in bridge.command) is share
