"""Times the language-model server beside llama-server and llama-cpp-python's own server.

Run it from the project's folder: python -m bench.llm
"""

import argparse
import contextlib
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from bench import llm_figures, llm_peers, llm_report
from bench.llm_client import Failed
from bench.llm_models import SHAPES, TINY, ensure
from bench.llm_servers import Kind, Server, running
from bench.neighbours import neighbours

FIGURES: Final = ("speed", "shared", "turns", "left", "health", "start")


class Effort(NamedTuple):
    """How much is measured; tokens a reply by shape."""

    rounds: int
    tokens: dict[str, int]
    reply_limit_s: float
    turn_rounds: int
    turn_reply: int
    """Tokens of a reply in a conversation."""
    left_rounds: int
    probes: int
    starts: int
    limit_s: float
    """No further measurement begins after this time."""


FULL: Final = Effort(5, {"5m": 600, "125m": 128, "500m": 48}, 20.0, 3, 54, 3, 1000, 3, 3000.0)
QUICK: Final = Effort(2, {"5m": 300, "125m": 32, "500m": 12}, 3.0, 1, 12, 1, 200, 1, 165.0)


class Bench:
    """One run: what is asked for, where things lie, and what was found."""

    def __init__(self, arguments: argparse.Namespace, kinds: list[Kind], work: Path) -> None:
        self.effort = QUICK if arguments.quick else FULL
        self.rounds = arguments.rounds or self.effort.rounds
        self.threads: int = arguments.threads
        self.figures = llm_report.Figures()
        self._kinds = kinds
        self._library = llm_peers.engine(arguments.library)
        self._work = work
        self._models: Path = arguments.tools / "models"
        self._wanted = arguments.figures
        self._started = time.monotonic()

    def run(self, shapes: Sequence[str]) -> None:
        """Measure each shape, smallest first, and print each table as soon as it is there."""
        models = {name: ensure(SHAPES.get(name, TINY), self._models) for name in shapes}
        self._started = time.monotonic()  # writing a model is no part of the measurement
        for name, model in models.items():
            self.measure(name, model)
        show("\n".join(llm_report.verdicts(self.figures)))

    def measure(self, name: str, model: Path) -> None:
        """Every wanted figure that this shape serves for."""
        if "speed" in self._wanted and self._has_time():
            with self.servers(self._kinds, model) as servers:
                self.speed(name, model, servers)
        if "shared" in self._wanted and name in ("125m", TINY.name) and self._has_time():
            self.shared(name, model)
        if "turns" in self._wanted and name != "5m" and self._has_time():
            self.turns(name, model)
        if "left" in self._wanted and name != "5m" and self._has_time():
            self.left(name, model)
        if "health" in self._wanted and name in ("5m", TINY.name) and self._has_time():
            self.health(name, model)
        if "start" in self._wanted and name in ("125m", TINY.name) and self._has_time():
            self.start(name, model)

    def speed(self, name: str, model: Path, servers: Sequence[Server]) -> None:
        """Streaming speed, and what it costs over the plain loop."""
        tokens = self.effort.tokens.get(name, 500)
        environment = {**os.environ, **llm_peers.PASSIVE, **self._library}
        floor = llm_figures.floor_of(
            model, tokens=tokens, threads=self.threads, environment=environment
        )
        self.note(f"{name}: streaming")
        found, paces = llm_figures.speeds(
            servers,
            floor,
            rounds=self.rounds * (3 if name == "5m" else 1),  # 60 us are to be seen there
            tokens=tokens,
            limit_s=self.effort.reply_limit_s,
            note=self.note,
        )
        self.figures.speeds[name] = found
        show(llm_report.speed_table(name, found))
        show(llm_report.floor_table(name, paces, found))
        if name == "5m":
            self.figures.floor = paces

    def shared(self, name: str, model: Path) -> None:
        """Streaming speed as installed, on cores that as many other programs use."""
        count = os.cpu_count() or 1
        self.note(f"{name}: streaming beside {count} busy programs")
        kinds = [kind for kind in self._kinds if not kind.settings]
        with neighbours(count), self.servers(kinds, model) as servers:
            self.figures.shared[name], _ = llm_figures.speeds(
                servers,
                None,
                rounds=self.rounds,
                tokens=self.effort.tokens.get(name, 500),
                limit_s=self.effort.reply_limit_s,
                note=self.note,
            )
        title = f"{name}, beside {count} busy programs"
        show(llm_report.speed_table(title, self.figures.shared[name]))

    def turns(self, name: str, model: Path) -> None:
        """First text of turn 10."""
        found = self.figures.turns[name] = {}
        for server in self._one_by_one(self._tuned(), model, f"{name}: conversations"):
            found[server.kind.name] = llm_figures.turns(
                server, self.effort.turn_rounds, self.effort.turn_reply, self.note
            )
        show(llm_report.turns_table(name, found))

    def left(self, name: str, model: Path) -> None:
        """The request after a client that left."""
        found = self.figures.left[name] = {}
        for server in self._one_by_one(self._tuned(), model, f"{name}: a client leaves"):
            found[server.kind.name] = llm_figures.after_leaving(
                server, self.effort.left_rounds, self.note
            )
        show(llm_report.left_table(name, found))

    def health(self, name: str, model: Path) -> None:
        """Health beside streams; our own defaults admit fewer of them, and are left out."""
        kinds = [k for k in self._kinds if k.settings or k.name.startswith("llama-server")]
        for server in self._one_by_one(kinds, model, f"{name}: health"):
            try:
                self.figures.probes[server.kind.name] = llm_figures.probes(
                    server, count=self.effort.probes, tokens=2000, note=self.note
                )
            except Failed as error:
                self.note(f"{server.kind.name}: {error} ({server.state})")
        show(llm_report.probes_table(self.figures.probes))

    def start(self, name: str, model: Path) -> None:
        """Start, first answer and memory."""
        found = self.figures.starts
        for number in range(self.effort.starts):
            for kind in filter(lambda _: self._has_time(), self._kinds):
                self.note(f"{name}: start {number + 1}, {kind.name}")
                try:
                    one = llm_figures.start(kind, model, self._folder(kind), self.threads)
                    found.setdefault(kind.name, []).append(one)
                except (Failed, RuntimeError) as error:
                    self.note(str(error))
        show(llm_report.starts_table(name, found))

    def servers(
        self, kinds: Sequence[Kind], model: Path
    ) -> contextlib.AbstractContextManager[list[Server]]:
        """Those that start, all at once; one that does not start costs itself only."""
        return running(kinds, model, self._folder, self.threads, self.note)

    def _one_by_one(self, kinds: Sequence[Kind], model: Path, what: str) -> Iterator[Server]:
        """Each server alone on the machine."""
        for kind in kinds:
            if self._has_time():
                self.note(f"{what}, {kind.name}")
                with self.servers([kind], model) as servers:
                    yield from servers

    def _tuned(self) -> list[Kind]:
        return [kind for kind in self._kinds if kind.settings]

    def _has_time(self) -> bool:
        over = time.monotonic() - self._started > self.effort.limit_s
        if over:
            self.note("skipped: the time is over")
        return not over

    def note(self, text: str) -> None:
        """Say on standard error what happens."""
        print(f"[{time.monotonic() - self._started:5.0f} s] {text}", file=sys.stderr, flush=True)

    def _folder(self, kind: Kind) -> Path:
        return Path(tempfile.mkdtemp(prefix=kind.name.split(",")[0] + "-", dir=self._work))


def show(text: str) -> None:
    """Print a table."""
    print(f"\n{text}", flush=True)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m bench.llm", description=__doc__)
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="replies a server")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names")
    parser.add_argument("--figures", nargs="+", default=FIGURES, choices=FIGURES)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=[*SHAPES, TINY.name])
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of the tuned servers")
    parser.add_argument("--quick", action="store_true", help="a rough run of three minutes")
    parser.add_argument("--tools", type=Path, default=cache / "paddock-bench", metavar="DIR")
    parser.add_argument("--llama-server", type=Path, metavar="PATH", help="a built llama-server")
    parser.add_argument("--library", type=Path, metavar="DIR", help="libllama.so for ours")
    parser.add_argument("--install-peers", action="store_true", help="install llama_cpp.server")
    parser.add_argument("--build-peer", action="store_true", help="build llama-server")
    return parser.parse_args(argv)


def _chosen(arguments: argparse.Namespace) -> list[Kind]:
    """The servers to compare, installed or built first if that is asked for."""
    arguments.tools.mkdir(parents=True, exist_ok=True)
    if arguments.install_peers:
        llm_peers.install(arguments.tools)
    if arguments.build_peer:
        llm_peers.build(arguments.tools)
    tools = llm_peers.find(arguments.tools, arguments.llama_server, arguments.library)
    for name, there in (("llama-server", tools.llama_server), ("llama_cpp", tools.peer_python)):
        if there is None:
            print(f"skipped: {name}: not installed (--build-peer, --install-peers)", flush=True)
    only = [word.lower() for word in arguments.only]
    kinds = llm_peers.kinds(tools)
    chosen = [k for k in kinds if not only or any(word in k.name.lower() for word in only)]
    if not chosen:
        raise RuntimeError(f"no server has such a name; there are {[k.name for k in kinds]}")
    return chosen


def _end(number: int, _frame: FrameType | None) -> None:
    """A signal ends the bench as an exception does, so that every server is stopped."""
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables and what is met of the asked figures."""
    arguments = _arguments(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        kinds = _chosen(arguments)
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
        print(f"{system}, Python {platform.python_version()}, {arguments.threads} thread(s)")
        with tempfile.TemporaryDirectory(prefix="paddock-bench-") as work:
            Bench(arguments, kinds, Path(work)).run(arguments.shapes)
    except RuntimeError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
