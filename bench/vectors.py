"""Times embeddings and the document store beside what else does the same on one machine.

Run it from the project's folder: python -m bench.vectors
"""

import argparse
import contextlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from bench import vectors_embed, vectors_figures, vectors_peers, vectors_report
from bench.vectors_process import Failed

FIGURES: Final = ("embed", "search", "adds", "restart")
SIZES: Final = (1_000, 10_000, 100_000)


class Effort(NamedTuple):
    """How much is measured."""

    embed_rounds: int
    embed_s: float
    """Of each cell."""
    search_rounds: int
    queries: int
    adds_rounds: int
    adds_s: float
    starts: int


FULL: Final = Effort(3, 2.5, 3, 500, 3, 3.0, 3)
QUICK: Final = Effort(2, 0.5, 2, 200, 1, 1.5, 1)


class Bench:
    """One run: what is asked for, where things lie, and what was found."""

    def __init__(
        self, arguments: argparse.Namespace, peers: vectors_peers.Peers, work: Path
    ) -> None:
        self.found = vectors_report.Figures()
        self.failed = False
        self._effort = QUICK if arguments.quick else FULL
        self._arguments = arguments
        self._peers = peers
        self._place = vectors_figures.Place(work, peers, self.note)
        self._started = time.monotonic()

    def run(self) -> None:
        """Measure, print each table as soon as it is there, and what is met."""
        wanted: Sequence[str] = self._arguments.figures
        sizes: list[int] = sorted(set(self._arguments.sizes))
        if "embed" in wanted:
            self._try("embeddings", self.embed)
        for size in sizes:
            restarts = "restart" in wanted and size == sizes[-1]
            if "search" in wanted or restarts:
                searches = "search" in wanted
                measure = partial(self.among, size, searches=searches, restarts=restarts)
                self._try(f"{size:,} vectors", measure)
        if "adds" in wanted:
            self._try("adds", self.adds)
        show("\n".join(vectors_report.verdicts(self.found)))

    def embed(self) -> None:
        """Embeddings a second with each number of threads."""
        model = vectors_peers.encoder(self._arguments.tools, self._arguments.model)
        effort = self._effort
        for threads in vectors_embed.THREADS:
            self.note(f"embeddings, {threads} thread(s)")
            with contextlib.ExitStack() as stack:
                folder = self._place.folder("embed")
                ours = stack.enter_context(vectors_embed.served(model, threads, folder))
                sources = {vectors_embed.OURS: ours}
                python, weights = self._peers.python, self._peers.weights
                if python and weights and vectors_embed.PEER in self._peers.names:
                    made = vectors_embed.sentence_transformers(python, weights, threads, folder)
                    peer = sources[vectors_embed.PEER] = stack.enter_context(made)
                    known = 1.0 if self.found.cosine is None else self.found.cosine
                    self.found.cosine = min(known, vectors_embed.likeness(ours, peer))
                paces = vectors_embed.paces(sources, threads, effort.embed_rounds, effort.embed_s)
            self.found.paces.update(paces)
        show(vectors_report.embed_table(self.found.paces))

    def among(self, size: int, *, searches: bool, restarts: bool) -> None:
        """What is measured with so many vectors in the store."""
        self.note(f"{size:,} vectors: made and filled in")
        data = vectors_figures.make_data(self._place, size, self._effort.queries)
        try:
            build_s = vectors_figures.fill(self._place, data)
            if searches:
                rounds = self._effort.search_rounds
                found = vectors_figures.searches(self._place, data, build_s, rounds)
                self.found.searches[size], self.found.small[size] = found
                show(vectors_report.search_table(size, *found))
            if restarts:
                starts = vectors_figures.restarts(self._place, data, self._effort.starts)
                self.found.restarts = starts
                show(vectors_report.restart_table(size, starts))
        finally:
            shutil.rmtree(data.folder, ignore_errors=True)

    def adds(self) -> None:
        """Adds that are on disk before they are acknowledged."""
        effort = self._effort
        self.found.adds = vectors_figures.adds(self._place, effort.adds_rounds, effort.adds_s)
        show(vectors_report.adds_table(self.found.adds))

    def note(self, text: str) -> None:
        """Say on standard error what happens."""
        print(f"[{time.monotonic() - self._started:5.0f} s] {text}", file=sys.stderr, flush=True)

    def _try(self, what: str, measure: Callable[[], None]) -> None:
        """A figure that fails costs itself only."""
        try:
            measure()
        except (Failed, RuntimeError, OSError) as error:
            self.failed = True
            self.note(f"{what} failed: {error}")


def show(text: str) -> None:
    """Print a table."""
    print(f"\n{text}", flush=True)


def _size(word: str) -> int:
    if not word.isdecimal() or not 10 <= int(word) <= 1_000_000:
        raise argparse.ArgumentTypeError("must be a number from 10 to 1000000")
    return int(word)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m bench.vectors", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rough run of some minutes")
    parser.add_argument("--figures", nargs="+", default=FIGURES, choices=FIGURES)
    parser.add_argument("--sizes", nargs="+", default=SIZES, type=_size, metavar="N")
    parser.add_argument("--model", type=Path, metavar="DIR", help="folder of our ONNX encoder")
    parser.add_argument("--tools", type=Path, default=cache / "paddock-bench", metavar="DIR")
    parser.add_argument("--install-peers", action="store_true", help="install what is compared")
    return parser.parse_args(argv)


def _found_peers(arguments: argparse.Namespace) -> vectors_peers.Peers:
    """What there is to compare with, installed first if that is asked for."""
    arguments.tools.mkdir(parents=True, exist_ok=True)
    if arguments.install_peers:
        vectors_peers.install(arguments.tools)
    peers = vectors_peers.find(arguments.tools)
    for name in vectors_peers.NEEDS:
        if name not in peers.names:
            print(f"skipped: {name}: not installed (--install-peers)", flush=True)
    return peers


def _end(number: int, _frame: FrameType | None) -> None:
    """A signal ends the bench as an exception does, so that every process is stopped."""
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables and what is met of the goals; 1 when a figure of ours failed."""
    arguments = _arguments(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        peers = _found_peers(arguments)
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
        print(f"{system}, Python {platform.python_version()}")
        # on the disk of the tools: temporary folders may be memory, where nothing is durable
        with tempfile.TemporaryDirectory(prefix="vectors-", dir=arguments.tools) as work:
            bench = Bench(arguments, peers, Path(work))
            bench.run()
    except (RuntimeError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return int(bench.failed)


if __name__ == "__main__":
    sys.exit(main())
