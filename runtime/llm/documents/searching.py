"""Answers a search from rows and candidates; reads only, on whatever connection it is given."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from runtime.llm.documents import rows
from runtime.llm.documents.exact import Best
from runtime.llm.documents.index import Candidates
from runtime.llm.documents.pool import Unclear
from runtime.llm.documents.schema import snapshot
from runtime.llm.documents.values import Hit, Where
from runtime.llm.documents.vectors import Matrix, matrix, scores

ALIKE: Final = 1e-6
"""Scores that differ by less may stand the other way round in a graph, or be left out by it."""


def scan(path: Path, collection: int, query: Matrix, k: int, where: Where) -> list[Hit]:
    """Compare all eligible chunks with the query, block by block, while the database stands still.

    At most a few blocks are in memory at a time. Raises sqlite3.Error.
    """
    with snapshot(path) as connection:
        best = Best(query, k)
        for block in rows.eligible(connection, collection, where):
            best.push(np.asarray(block.ids, np.int64), matrix(block.vectors))
        return hits(connection, collection, Candidates(best.ids, best.scores), query, k) or []


def hits(
    connection: sqlite3.Connection, collection: int, among: Candidates, query: Matrix, k: int
) -> list[Hit] | None:
    """The *k* best of the candidates, best first, with their texts; ties by document, then chunk.

    None: a candidate has been removed meanwhile, so the candidates are of the past. Raises
    `Unclear` where the *k* best cannot be told from what is not among the candidates.
    """
    pairs = (
        _compared(connection, collection, among, query, k)
        if among.scores is None
        else list(zip(among.ids.tolist(), among.scores.tolist(), strict=True))
    )
    chosen = None if pairs is None else _chosen(connection, collection, pairs, k)
    if chosen is None:
        return None
    found = rows.found(connection, collection, chosen)
    if len(found) < len(chosen):
        return None
    answer = [Hit(*found[id_][:3], score, found[id_].metadata) for id_, score in chosen.items()]
    return sorted(answer, key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))


def _compared(
    connection: sqlite3.Connection, collection: int, among: Candidates, query: Matrix, k: int
) -> list[tuple[int, float]] | None:
    """The candidates that may be of the *k* best, each with all that have its vector."""
    block = rows.block_of(connection, collection, among.ids.tolist())
    if len(block.ids) < len(among.ids):
        return None
    made = dict(zip(block.ids, scores(matrix(block.vectors), query).tolist(), strict=True))
    pairs: list[tuple[int, float]] = []
    last = 2.0
    for one in sorted(made, key=made.__getitem__, reverse=True):
        if len(pairs) >= k and made[one] < last:
            break
        last = made[one]
        pairs += [(id_, last) for id_ in (one, *among.others.get(one, ()))]
    if not among.whole and (len(pairs) < k or last - min(made.values()) <= ALIKE):
        raise Unclear
    return pairs


def _chosen(
    connection: sqlite3.Connection, collection: int, pairs: Sequence[tuple[int, float]], k: int
) -> dict[int, float] | None:
    """The *k* best with their scores; asks where the last ones stand if more are equally good."""
    if len(pairs) <= k:
        return dict(pairs)
    last = sorted((score for _, score in pairs), reverse=True)[k - 1]
    above = {id_: score for id_, score in pairs if score > last}
    tied = [id_ for id_, score in pairs if score == last]
    first = _first(connection, collection, tied, k - len(above))
    return None if first is None else above | dict.fromkeys(first, last)


def _first(
    connection: sqlite3.Connection, collection: int, ids: Sequence[int], count: int
) -> list[int] | None:
    places = rows.places(connection, collection, ids)
    if len(places) < len(ids):
        return None
    return sorted(ids, key=places.__getitem__)[:count]
