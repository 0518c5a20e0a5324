"""What a search may find: metadata compared as JSON compares, documents by id."""

from itertools import product

import pytest

from runtime.llm.documents.document import Scalar, Where
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    Model,
    admits,
    assert_same,
    clustered,
    document,
    query,
    randoms,
)

METADATA: list[object] = [
    None,
    {},
    {"a": 1},
    {"a": 1.0},
    {"a": True},
    {"a": False},
    {"a": 0},
    {"a": "1"},
    {"a": "true"},
    {"a": ""},
    {"a": None},
    {"a": [1]},
    {"a": {"a": 1}},
    {"b": 1},
    {"a": 2**53 + 1},
    {"a": 0.1},
    {"a": "é\U0001f3ce"},
    {'quo"te': 1, "dot.ted": 2, "a[0]": 3, "": 4},
    [1, "a"],
    "a",
    1,
]
EQUAL: list[dict[str, Scalar]] = [
    {"a": 1},
    {"a": 1.0},
    {"a": True},
    {"a": False},
    {"a": 0},
    {"a": -0.0},
    {"a": "1"},
    {"a": "true"},
    {"a": ""},
    {"a": None},
    {"a": 2**53},
    {"a": 2**53 + 1},
    {"a": 10**40},
    {"a": 10**400},
    {"a": 0.1},
    {"a": "é\U0001f3ce"},
    {'quo"te': 1},
    {"dot.ted": 2},
    {"a[0]": 3},
    {"": 4},
    {"a": 1, "b": None},
    {"a": None, "b": 1},
    {"0": 1},
    {"'; DROP TABLE chunks; --": 1},
]


@pytest.fixture
async def filled(store: DocumentStore) -> DocumentStore:
    """A document for each kind of metadata, named by its place in the table."""
    for number, metadata in enumerate(METADATA):
        new = document(f"{number:02}", seed=number, metadata=metadata)
        await store.for_tenant("a").replace(new)
    return store


async def found(store: DocumentStore, where: Where) -> list[int]:
    hits = await store.for_tenant("a").search(query(randoms(1, 0)[0]), MODEL, 50, where)
    return sorted(int(hit.document_id) for hit in hits)


async def test_metadata_is_compared_as_json_values_are(filled: DocumentStore) -> None:
    for equal in EQUAL:
        where = Where(equal=equal)
        wanted = [
            number
            for number, metadata in enumerate(METADATA)
            if admits(where, document("x", metadata=metadata))
        ]
        assert await found(filled, where) == wanted, equal


async def test_the_last_of_equal_keys_counts(store: DocumentStore) -> None:
    new = document("01")
    await store.for_tenant("a").replace(
        type(new)(**{**vars(new), "metadata": '{"a": 1, "b": 0, "a": 2}'})
    )

    assert await found(store, Where(equal={"a": 1})) == []
    assert await found(store, Where(equal={"a": 2})) == [1]


async def test_metadata_with_a_nul_equals_nothing_rather_than_a_part_of_it(
    store: DocumentStore,
) -> None:
    await store.for_tenant("a").replace(document("01", metadata={"a": "x\0y"}))

    assert await found(store, Where(equal={"a": "x"})) == []


@pytest.mark.parametrize("exact_max", [20_000, 50])
async def test_a_filter_finds_the_best_of_what_it_admits(opened: Open, exact_max: int) -> None:
    store, model = await opened(exact_max=exact_max), Model()
    vectors = clustered(400, seed=1)
    for number in range(40):
        new = document(
            f"d{number:02}",
            [f"{number}-{chunk}" for chunk in range(10)],
            vectors=vectors[10 * number : 10 * number + 10],
            metadata={"third": number % 3, "odd": bool(number % 2)},
        )
        model.replace("a", new)
        await store.for_tenant("a").replace(new)

    for third, odd, least in product((0, 1, 2), (True, False), (None, 0.3)):
        where = Where(equal={"third": third, "odd": odd}, min_score=least)
        wanted = query(clustered(1, seed=2)[0])
        hits = await store.for_tenant("a").search(wanted, MODEL, 20, where)
        assert_same(hits, model.search("a", wanted, MODEL, 20, where))
