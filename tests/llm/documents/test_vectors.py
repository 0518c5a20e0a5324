"""Exact and approximate indexes by themselves: arrays in, the best chunks out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.documents.document import WIDTH
from runtime.llm.documents.vectors import Best, ExactIndex, HnswIndex, score_rows
from tests.llm.documents.kit import Matrix, clustered, randoms, unit

ROWS = randoms(40, seed=1)
FEW = randoms(6, seed=1)
STEPS = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 39), max_size=20)), max_size=12)


def truly_best(rows: dict[int, Matrix], query: Matrix, k: int) -> set[int]:
    """The k best, and those as good as the last."""
    made = {id_: float(score_rows(row[None], query)[0]) for id_, row in rows.items()}
    if len(made) <= k:
        return set(made)
    last = sorted(made.values(), reverse=True)[k - 1]
    return {id_ for id_, score in made.items() if score >= last}


@given(
    st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 39), max_size=30)), max_size=12),
    st.integers(1, 12),
)
def test_an_exact_index_has_what_was_put_in_and_not_taken_out(
    steps: list[tuple[bool, list[int]]], k: int
) -> None:
    index, have = ExactIndex(), dict[int, Matrix]()
    for add, ids in steps:
        if add:
            index.add(ids, ROWS[ids])
            have |= {id_: ROWS[id_] for id_ in ids}
        else:
            index.remove(ids)
            have = {id_: row for id_, row in have.items() if id_ not in ids}

    assert len(index) == len(have)
    assert set(index.best(ROWS[7], k).ids.tolist()) == truly_best(have, ROWS[7], k)


def test_equal_vectors_have_equal_scores_wherever_they_stand() -> None:
    rows = randoms(9000, seed=3)
    rows[[1, 2500, 4095, 4096, 8999]] = rows[0]

    made = score_rows(rows, rows[17])

    assert len({made[at].item() for at in (0, 1, 2500, 4095, 4096, 8999)}) == 1
    assert made[0] == score_rows(rows[:1], rows[17])[0]


def test_what_is_not_a_number_is_never_found() -> None:
    rows = randoms(20, seed=1)
    rows[[3, 8]] = np.nan
    best = Best(rows[0], 30)

    best.push(np.arange(20), rows)

    assert set(best.ids.tolist()) == set(range(20)) - {3, 8}


def subspace(count: int, seed: int) -> Matrix:
    """Unit vectors in 24 dimensions of the 384."""
    base = np.random.default_rng(3).standard_normal((24, WIDTH))
    return unit(np.random.default_rng(seed).standard_normal((count, 24)) @ base)


@given(STEPS)
def test_a_graph_has_each_vector_once_and_all_its_chunks(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, list[int]]]
) -> None:
    index, have = HnswIndex(), set[int]()
    for add, ids in steps:
        if add:
            index.add(ids, FEW[[id_ % len(FEW) for id_ in ids]])
            have |= set(ids)
        else:
            index.remove(ids)
            have -= set(ids)
    path = tmp_path_factory.mktemp("graph") / "saved"
    index.save(path)

    groups = {frozenset(id_ for id_ in have if id_ % len(FEW) == number) for number in range(6)}
    groups.discard(frozenset())
    for graph in (index, HnswIndex.load(path)):
        near = graph.find_near(FEW[0], 1000)
        assert near.complete
        assert {frozenset(group) for group in near.groups} == groups
        assert (len(graph), graph.nodes, set(graph.ids().tolist())) == (
            len(have),
            len(groups),
            have,
        )
        graph.remove(have)
        assert (len(graph), graph.nodes, graph.ids().tolist()) == (0, 0, [])


def recall(rows: Matrix, queries: Matrix) -> float:
    """How many of the ten best chunks a graph finds."""
    ids, index = np.arange(len(rows)), HnswIndex()
    index.add(ids.tolist(), rows)
    share = 0.0
    for query in queries:
        among = np.concatenate(index.find_near(query, 10).groups)
        found, true = Best(query, 10), Best(query, 10)
        found.push(among, rows[among])
        true.push(ids, rows)
        share += len(np.intersect1d(found.ids, true.ids)) / len(true.ids)
    return share / len(queries)


def test_a_graph_finds_nearly_all_of_the_ten_best_of_clustered_vectors() -> None:
    assert recall(clustered(6000, seed=1), clustered(200, seed=2)) >= 0.99


def test_many_equal_chunks_hide_no_others() -> None:
    rows = subspace(6000, seed=1)
    rows[np.random.default_rng(4).permutation(6000)[:2500]] = rows[0]

    assert recall(rows, subspace(100, seed=2)) >= 0.99
