"""Times the course build beside other site generators, on the same lessons in the same run.

Run it from the project's folder: python -m bench.course --lessons 1000 5000
"""

import argparse
import cProfile
import os
import platform
import pstats
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

from bench.lessons import Lesson, make_lessons
from bench.measure import Run, Size, median, remove, run, size
from bench.peers import PEERS, ROOT, Peer, Site, install, prepare_ours
from course.cli import main as build

OURS: Final = Peer("Paddock, everything", lambda _tools: ROOT / "build.py", prepare_ours)
CASES: Final = ("cold", "same", "one")
COLUMNS: Final = (
    "cold, wall s",
    "cold, CPU s",
    "nothing changed, s",
    "one changed, s",
    "peak MB",
    "files",
    "output MB",
    "cold, ours = 1",
)


class Result(NamedTuple):
    """The medians of one generator and what it wrote."""

    name: str
    runs: dict[str, Run]
    size: Size


def bench(count: int, rounds: int, tools: Path, work: Path, only: Sequence[str]) -> list[Result]:
    """Measure every installed generator; rounds are interleaved so that noise hits all alike."""
    lessons = make_lessons(count)
    sites = {}
    for peer in (OURS, *PEERS):
        if only and not any(word.lower() in peer.name.lower() for word in only):
            continue
        program = peer.program(tools)
        if not program.exists():
            print(f"skipped: {peer.name}: not installed (--install-peers)", flush=True)
            continue
        folder = work / peer.name.replace(",", "").replace(" ", "-").lower()
        folder.mkdir()
        sites[peer.name] = peer.prepare(program, folder, lessons)
    runs: dict[str, list[dict[str, Run]]] = {name: [] for name in sites}
    for number in range(rounds):
        for name, site in sites.items():
            runs[name].append(_round(site, number))
            _expect_pages(name, site, lessons)
    return [
        Result(name, {c: median([r[c] for r in runs[name]]) for c in CASES}, size(site.output))
        for name, site in sites.items()
    ]


def _round(site: Site, number: int) -> dict[str, Run]:
    """One cold build, one with nothing changed, one with one lesson changed."""
    remove(site.output, *site.caches)
    os.sync()
    cold = run(site.command, site.folder)
    same = run(site.command, site.folder)
    with site.lesson.open("a", encoding="utf-8") as source:
        source.write(f"\nRound {number} adds this sentence.\n")
    return {"cold": cold, "same": same, "one": run(site.command, site.folder)}


def _expect_pages(name: str, site: Site, lessons: list[Lesson]) -> None:
    """A generator that left lessons out is not comparable."""
    pages = size(site.output).pages
    if pages < len(lessons):
        raise RuntimeError(f"{name} wrote {pages} pages for {len(lessons)} lessons")


def table(count: int, results: Sequence[Result]) -> str:
    """The figures as a Markdown table."""
    rows = [f"| {count:,} lessons | {' | '.join(COLUMNS)} |", "|---" + "|---:" * len(COLUMNS) + "|"]
    ours = next((r.runs["cold"].wall_s for r in results if r.name == OURS.name), None)
    for name, runs, written in results:
        cold = runs["cold"]
        ratio = f"{cold.wall_s / ours:.1f}" if ours else ""
        cells = (
            name,
            f"{cold.wall_s:.2f}",
            f"{cold.cpu_s:.2f}",
            f"{runs['same'].wall_s:.2f}",
            f"{runs['one'].wall_s:.2f}",
            f"{max(r.peak_mb for r in runs.values()):.0f}",
            f"{written.files:,}",
            f"{written.megabytes:.1f}",
            ratio,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def profile(count: int, work: Path) -> str:
    """Where the time of a cold build goes: the 25 dearest functions by own time."""
    site = prepare_ours(ROOT, work, make_lessons(count))
    profiler = cProfile.Profile()
    with redirect_stdout(StringIO()):
        profiler.runcall(build, [*site.command[2:], "--jobs", "1"])
    report = StringIO()
    pstats.Stats(profiler, stream=report).strip_dirs().sort_stats("tottime").print_stats(25)
    return report.getvalue()


_FOLDER: Final = "where the sites lie (default: memory, so that no disk is measured)"


def _memory() -> Path | None:
    """A folder that lives in memory; None (the usual temporary folder) where there is none."""
    folder = Path("/dev/shm")  # noqa: S108  (only a place for the bench's own folder)
    return folder if os.access(folder, os.W_OK) else None


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m bench.course", description=__doc__)
    parser.add_argument("--lessons", type=int, nargs="+", default=[1000], metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of N rounds")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names")
    parser.add_argument("--folder", type=Path, default=_memory(), metavar="DIR", help=_FOLDER)
    parser.add_argument("--tools", type=Path, default=cache / "paddock-bench", metavar="DIR")
    parser.add_argument("--install-peers", action="store_true", help="install them into --tools")
    parser.add_argument("--profile", action="store_true", help="profile our own cold build")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Print one table for each number of lessons."""
    arguments = _arguments(argv)
    if arguments.install_peers:
        install(arguments.tools)
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    where = "in memory" if arguments.folder and arguments.folder == _memory() else "on disk"
    print(
        f"{system}, Python {platform.python_version()}, files {where}, "
        f"median of {arguments.rounds}",
        flush=True,
    )
    for count in arguments.lessons:
        with tempfile.TemporaryDirectory(prefix="paddock-bench-", dir=arguments.folder) as work:
            if arguments.profile:
                print(profile(count, Path(work)))
                continue
            try:
                results = bench(
                    count, arguments.rounds, arguments.tools, Path(work), arguments.only
                )
            except RuntimeError as error:
                print(f"bench: {error}", file=sys.stderr)
                return 1
            print(f"\n{table(count, results)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
