"""Exact and approximate indexes by themselves: arrays in, the best chunks out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.documents.exact import Best, ExactIndex
from runtime.llm.documents.hnsw import HnswIndex
from runtime.llm.documents.index import LiveIndex, difference
from runtime.llm.documents.vectors import scores
from tests.llm.documents.kit import Matrix, clustered, randoms

ROWS = randoms(40, seed=1)


def truly_best(rows: dict[int, Matrix], query: Matrix, k: int) -> set[int]:
    """The k best, and those as good as the last."""
    made = {id_: float(scores(row[None], query)[0]) for id_, row in rows.items()}
    if len(made) <= k:
        return set(made)
    last = sorted(made.values(), reverse=True)[k - 1]
    return {id_ for id_, score in made.items() if score >= last}


@settings(max_examples=100, deadline=None)
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


def test_an_exact_index_grows_and_uses_free_rows_again() -> None:
    index, rows = ExactIndex(), randoms(1000, seed=2)
    index.add(range(1000), rows)
    size = index.nbytes

    for start in range(1000, 10_000, 1000):
        index.remove(range(start - 1000, start))
        index.add(range(start, start + 1000), rows)

    assert index.nbytes == size
    assert index.best(rows[5], 1).ids.tolist() == [9005]


def test_best_does_not_depend_on_how_the_chunks_are_cut_into_blocks() -> None:
    rows, ids = clustered(500, seed=1), np.arange(500)
    rows[100:200] = rows[0]
    answers = []
    for block in (1, 7, 100, 500):
        best = Best(rows[0], 10)
        for at in range(0, 500, block):
            best.push(ids[at : at + block], rows[at : at + block])
        answers.append(dict(zip(best.ids.tolist(), best.scores.tolist(), strict=True)))

    assert len(answers[0]) == 101
    assert all(answer == answers[0] for answer in answers)


def test_equal_vectors_have_equal_scores_wherever_they_stand() -> None:
    rows = randoms(9000, seed=3)
    rows[[1, 2500, 4095, 4096, 8999]] = rows[0]

    made = scores(rows, rows[17])

    assert len({made[at].item() for at in (0, 1, 2500, 4095, 4096, 8999)}) == 1
    assert made[0] == scores(rows[:1], rows[17])[0]


def test_what_is_not_a_number_is_never_found() -> None:
    rows = randoms(20, seed=1)
    rows[[3, 8]] = np.nan
    best = Best(rows[0], 30)

    best.push(np.arange(20), rows)

    assert set(best.ids.tolist()) == set(range(20)) - {3, 8}


@pytest.mark.parametrize("count", [0, 1, 30])
def test_a_graph_forgets_what_was_removed_and_passes_over_what_it_has(count: int) -> None:
    graph = HnswIndex()
    graph.add(range(count), ROWS[:count])
    graph.add(range(count), ROWS[:count])
    graph.remove([0, 1, 77])
    graph.remove([0])

    left = set(range(2, count))
    assert len(graph) == len(left)
    assert set(graph.ids().tolist()) == left
    assert set(graph.near(ROWS[0], 50).ids.tolist()) == left


def test_a_graph_with_much_removed_asks_to_be_built_anew() -> None:
    index = LiveIndex.built([(range(40), ROWS.tobytes())], 40, exact_max=10)
    index.apply(range(10), (), ROWS[:0])
    before = index.outgrown
    index.apply([10], (), ROWS[:0])

    assert (before, index.outgrown) == (False, True)


def test_an_exact_index_asks_for_a_graph_when_it_is_too_large() -> None:
    index = LiveIndex.built([(range(20), ROWS[:20].tobytes())], 20, exact_max=20)
    before = index.outgrown
    index.apply((), [20], ROWS[20:21])

    assert (before, index.outgrown, index.graph) == (False, True, None)


def test_a_search_does_not_wait_for_a_long_change() -> None:
    index = LiveIndex.built([(range(20), ROWS[:20].tobytes())], 20, exact_max=20)

    with index._lock:
        assert index.candidates(ROWS[0], 5, patience_s=0.001) is None
    assert index.candidates(ROWS[0], 5, patience_s=0.001) is not None


def test_a_difference_leads_from_one_set_to_another() -> None:
    removed, added = difference(np.array([5, 1, 9]), [1, 2, 3, 9])

    assert (removed, added) == ([5], [2, 3])


def test_a_graph_finds_nearly_all_of_the_ten_best_of_clustered_vectors() -> None:
    rows, queries = clustered(6000, seed=1), clustered(200, seed=2)
    ids = np.arange(len(rows))
    index = LiveIndex.built([(ids.tolist(), rows.tobytes())], len(rows), exact_max=100)
    hit = 0
    for query in queries:
        among = index.candidates(query, 10, 1.0)
        assert among is not None
        found, true = Best(query, 10), Best(query, 10)
        found.push(among.ids, rows[among.ids])
        true.push(ids, rows)
        hit += len(np.intersect1d(found.ids, true.ids))

    assert hit / (10 * len(queries)) >= 0.99
