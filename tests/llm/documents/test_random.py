"""Random operations of three tenants against plain dictionaries: nothing crosses, ever."""

import asyncio
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from runtime.llm.documents.document import NewDocument, TenantInfo, Where
from runtime.llm.documents.store import DocumentStore, StoreSettings
from tests.effort import repeats
from tests.llm.documents.kit import Model, admits, assert_same, document, query, randoms

T = TypeVar("T")
VECTORS = randoms(300, seed=1)
TENANTS = st.sampled_from(["a", "b", "a b"])
NAMES = st.sampled_from(["d", "D", "e", "f/1", "é", "\U0001f3ce"])
MODELS = st.sampled_from(["mini", "other"])
PICKS = st.integers(0, len(VECTORS) - 1)
ROWS = st.lists(PICKS, min_size=1, max_size=6, unique=True)
WHERES = st.one_of(
    st.just(Where()),
    st.builds(Where, st.frozensets(NAMES, max_size=3)),
    st.builds(Where, equal=st.fixed_dictionaries({"n": st.sampled_from([0, 1.0, True, None])})),
    st.builds(Where, min_score=st.sampled_from([-0.5, 0.0, 0.5])),
)


class Tenants(RuleBasedStateMachine):
    """A store and its model; every answer of the one must be the other's."""

    limits = StoreSettings()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.written = 0
        self.store: DocumentStore

    def done(self, work: Awaitable[T]) -> T:
        """What the work comes to."""
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.done(self.store.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.store = self.done(DocumentStore.open(Path(self.folder.name), self.limits))

    @rule(
        tenant=TENANTS,
        name=NAMES,
        rows=ROWS,
        model=MODELS,
        value=st.sampled_from([0, 1, True, "1", None]),
    )
    def replace(self, tenant: str, name: str, rows: list[int], model: str, value: object) -> None:
        self.written += 1
        texts = [f"{tenant}/{name}/{self.written}/{number}" for number in range(len(rows))]
        new: NewDocument = document(
            name, texts, vectors=VECTORS[rows], model=model, metadata={"n": value, "of": tenant}
        )
        before = self.model.delete(tenant, name)
        replaced = self.done(self.store.for_tenant(tenant).replace(new))
        self.model.replace(tenant, new)
        assert replaced == (before > 0)

    @rule(tenant=TENANTS, name=NAMES)
    def delete(self, tenant: str, name: str) -> None:
        removed = self.done(self.store.for_tenant(tenant).delete(name))
        assert removed == self.model.delete(tenant, name)

    @rule(tenant=TENANTS)
    def delete_tenant(self, tenant: str) -> None:
        removed = self.done(self.store.delete_tenant(tenant))
        assert removed == self.model.delete_tenant(tenant)

    @rule(tenant=TENANTS, model=MODELS, pick=PICKS, k=st.integers(1, 12), where=WHERES)
    def search(self, tenant: str, model: str, pick: int, k: int, where: Where) -> None:
        wanted = query(VECTORS[pick])
        found = self.done(self.store.for_tenant(tenant).search(wanted, model, k, where))
        assert_same(found, self.model.search(tenant, wanted, model, k, where))
        own = self.model.documents.get(tenant, {})
        assert all(hit.text.startswith(f"{tenant}/{hit.document_id}/") for hit in found)
        assert all(admits(where, own[hit.document_id]) for hit in found)

    @rule()
    def settle(self) -> None:
        self.done(self.store.settle())

    @rule()
    def reopen(self) -> None:
        self.done(self.store.close())
        self.store = self.done(DocumentStore.open(Path(self.folder.name), self.limits))

    @invariant()
    def lists_and_counts_agree(self) -> None:
        if not hasattr(self, "store"):
            return
        for tenant in ("a", "b", "a b", "nobody"):
            page = self.done(self.store.for_tenant(tenant).documents())
            own = self.model.documents.get(tenant, {})
            assert [(one.id, one.model, one.chunk_count) for one in page.documents] == [
                (name, own[name].model, len(own[name].texts)) for name in sorted(own)
            ]
        assert self.done(self.store.tenants()) == [
            TenantInfo(name, len(own), sum(len(one.texts) for one in own.values()))
            for name, own in sorted(self.model.documents.items())
        ]
        assert self.done(self.store.figures())[:3] == (
            len(self.model.documents),
            sum(map(len, self.model.documents.values())),
            self.model.chunks(),
        )


class TenantsWithGraphs(Tenants):
    """The same with graphs for all but the smallest collections, and room for few indexes."""

    limits = StoreSettings(exact_max=3, index_bytes=1)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("machine", [Tenants, TenantsWithGraphs])
def test_nothing_crosses_between_tenants_and_every_answer_is_right(machine: type[Tenants]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=repeats(12),
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
