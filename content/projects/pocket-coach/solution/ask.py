"""Asks the coach from the command line and prints how long it took."""

import argparse
from pathlib import Path
from time import perf_counter

from coach import answer
from latency import Reply, percentile, time_stream
from local_model import stream_lines
from search import Store


def load(folder: Path) -> Store:
    """A store with every Markdown note of a folder."""
    store = Store()
    for path in sorted(folder.glob("*.md")):
        store.add(path.stem, path.read_text(encoding="utf-8"))
    return store


def main() -> None:
    """Answer one question, as often as asked, and report the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", type=Path)
    parser.add_argument("question")
    parser.add_argument("--server", help="for example http://127.0.0.1:8080")
    parser.add_argument("--model", default="", help="a model the server lists")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    store = load(options.notes)
    replies: list[Reply] = []
    seconds: list[float] = []

    def model(text: str) -> str:
        lines = stream_lines(options.server, options.model, text)
        replies.append(time_stream(lines, perf_counter))
        return replies[-1].text

    said = None
    for _ in range(max(options.repeat, 1)):
        begin_s = perf_counter()
        said = answer(options.question, store, model if options.server else None)
        seconds.append(perf_counter() - begin_s)
    if said is not None:
        print(said.text)
        print(f"by {said.by}, from {', '.join(said.sources) or 'no note'}")
    report("answer", seconds)
    report("first token", [reply.first_token_s for reply in replies])


def report(name: str, seconds: list[float]) -> None:
    """Print median and 95th percentile in milliseconds, if there is anything."""
    if seconds:
        middle, high = percentile(seconds, 50), percentile(seconds, 95)
        row = f"{name}: median {middle * 1000:.1f} ms, 95th {high * 1000:.1f} ms"
        print(f"{row}, {len(seconds)} runs")


if __name__ == "__main__":
    main()
