"""Turns the figures of embeddings and of the document store into tables and verdicts; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bench.llm_report import NOISE, percentile, table
from bench.vectors_embed import OURS as OUR_SERVER
from bench.vectors_embed import PEER as PEER_ENCODER
from bench.vectors_embed import Cell, Pace

OURS: Final = "Paddock"
NUMPY: Final = "NumPy, every row"
FLOOR: Final = "SQLite alone"
WITH_FILE: Final = "with the index file"
WITHOUT_FILE: Final = "without it"
LEAST_COSINE: Final = 0.999
LEAST_RECALL: Final = 0.99
COMPARED_FROM: Final = 10_000
"""Vectors from which on a search must not be slower than NumPy's."""


@dataclass
class Search:
    """One method's searches among so many vectors."""

    recall: float
    build_s: float
    memory_mb: float
    rounds: list[list[float]] = field(default_factory=list)
    """Milliseconds of each query, round by round."""

    def best(self, share: float) -> float:
        """The percentile in the round in which it was lowest."""
        return min(percentile(times, share) for times in self.rounds)

    def overall(self, share: float) -> float:
        """The percentile of all rounds together."""
        return percentile([time for times in self.rounds for time in times], share)


class Restart(NamedTuple):
    """Seconds from the start of a process."""

    first_s: float
    """To the first answer."""
    settled_s: float
    """Until the index answers."""


@dataclass
class Figures:
    """Everything that was measured."""

    paces: dict[Cell, dict[str, list[Pace]]] = field(default_factory=dict)
    cosine: float | None = None
    searches: dict[int, dict[str, Search]] = field(default_factory=dict)
    small: dict[int, Search] = field(default_factory=dict)
    """A small tenant's, by the size of the large one beside it."""
    adds: dict[str, list[float]] = field(default_factory=dict)
    """Durable adds a second."""
    restarts: dict[str, list[Restart]] = field(default_factory=dict)


def embed_table(paces: Mapping[Cell, Mapping[str, Sequence[Pace]]]) -> str:
    """Embeddings a second and processor time of a text, best rounds."""
    head = [
        *("embeddings/s, best", "threads", OUR_SERVER, PEER_ENCODER, "ours / theirs"),
        *("CPU ms/text, ours", "theirs"),
    ]
    rows = []
    for cell, found in sorted(paces.items()):
        sides = [found.get(OUR_SERVER), found.get(PEER_ENCODER)]
        rates = [f"{_fastest(side):,.0f}" if side else "" for side in sides]
        costs = [f"{min(pace.cpu_ms for pace in side):.2f}" if side else "" for side in sides]
        ratio = _ratio(found)
        shown = "" if ratio is None else f"{ratio:.2f}"
        what = f"{cell.words} words, {cell.batch} at a time"
        rows.append([what, f"{cell.threads}", *rates, shown, *costs])
    return table(head, rows)


def _fastest(paces: Sequence[Pace]) -> float:
    return max(pace.per_s for pace in paces)


def _ratio(found: Mapping[str, Sequence[Pace]]) -> float | None:
    """How many times as fast as the peer; None: one of the two was not measured."""
    ours, peer = found.get(OUR_SERVER), found.get(PEER_ENCODER)
    return _fastest(ours) / _fastest(peer) if ours and peer else None


def search_table(size: int, found: Mapping[str, Search], small: Search | None = None) -> str:
    """Recall, times, memory and building of each method."""
    head = [
        *(f"{size:,} vectors", "recall@10", "p50 ms best", "p99 ms best", "p99 ms all"),
        *("memory MB", "build s"),
    ]
    rows = [[name, *_search_cells(one)] for name, one in found.items()]
    if small is not None:
        cells = _search_cells(small)[:4]
        rows.append([f"{OURS}, a tenant of 200 beside it", *cells, "", ""])
    return table(head, rows)


def _search_cells(one: Search) -> list[str]:
    times = (one.best(0.5), one.best(0.99), one.overall(0.99))
    return [
        f"{one.recall:.4f}",
        *(f"{ms:.3f}" for ms in times),
        f"{one.memory_mb:.0f}",
        f"{one.build_s:.1f}",
    ]


def adds_table(adds: Mapping[str, Sequence[float]]) -> str:
    """Chunks that were on disk before they were acknowledged."""
    head = ["durable single-chunk adds", "adds/s best", "adds/s worst"]
    return table(head, [[name, f"{max(r):,.0f}", f"{min(r):,.0f}"] for name, r in adds.items()])


def restart_table(size: int, restarts: Mapping[str, Sequence[Restart]]) -> str:
    """Seconds from the start of a process, best."""
    head = [f"start with {size:,} chunks", "first answer s", "index answers s"]
    rows = [
        [name, f"{min(r.first_s for r in some):.2f}", f"{min(r.settled_s for r in some):.2f}"]
        for name, some in restarts.items()
    ]
    return table(head, rows)


def verdicts(figures: Figures) -> list[str]:
    """One line for each goal that was measured: whether it is met."""
    return [
        *_embed_verdicts(figures),
        *_recall_verdicts(figures.searches),
        *_time_verdicts(figures.searches),
        *_small_verdicts(figures.small),
    ]


def _line(what: str, measured: str, *, met: bool) -> str:
    return f"- {'met' if met else 'NOT MET'}: {what}: {measured}"


def _embed_verdicts(figures: Figures) -> list[str]:
    lines = []
    if figures.cosine is not None:
        what = f"cosine to sentence-transformers at least {LEAST_COSINE}"
        lines.append(_line(what, f"{figures.cosine:.7f}", met=figures.cosine >= LEAST_COSINE))
    ratios = {cell: ratio for cell, found in figures.paces.items() if (ratio := _ratio(found))}
    if ratios:
        cell, ratio = min(ratios.items(), key=lambda item: item[1])
        where = f"{cell.words} words, {cell.batch} at a time, {cell.threads} thread(s)"
        what = "embeddings/s at least sentence-transformers', within noise"
        lines.append(_line(what, f"{ratio:.2f} times at least ({where})", met=ratio >= NOISE))
    return lines


def _recall_verdicts(searches: Mapping[int, Mapping[str, Search]]) -> list[str]:
    return [
        _line(
            f"recall@10 at {size:,} at least {LEAST_RECALL}",
            f"{ours.recall:.4f}",
            met=ours.recall >= LEAST_RECALL,
        )
        for size, found in searches.items()
        if (ours := found.get(OURS))
    ]


def _time_verdicts(searches: Mapping[int, Mapping[str, Search]]) -> list[str]:
    lines = []
    for size, found in searches.items():
        ours, plain = found.get(OURS), found.get(NUMPY)
        if ours and plain and size >= COMPARED_FROM:
            own, theirs = ours.best(0.99), plain.best(0.99)
            what = f"p99 at {size:,} not above NumPy's, which fetches no text"
            lines.append(_line(what, f"{own:.3f} ms to {theirs:.3f} ms", met=own <= theirs))
    return lines


def _small_verdicts(small: Mapping[int, Search]) -> list[str]:
    return [
        _line(
            f"recall@10 of a tenant of 200 beside one of {size:,} is 1",
            f"{one.recall:.4f}",
            met=one.recall == 1,
        )
        for size, one in small.items()
    ]
