"""Samples of single signals from JSON."""

import pytest

from runtime.bridge.session.ingest import BadBatch, BatchTooLarge, SampleBatch, read_samples
from runtime.bridge.session.names import NAMES


def plain(batch: SampleBatch) -> dict[str, list[tuple[float, float]]]:
    return {
        name: list(zip(samples.t.tolist(), samples.value.tolist(), strict=True))
        for name, samples in batch.samples.items()
    }


def test_all_forms_of_a_sample_are_understood() -> None:
    batch = read_samples(
        [
            {"name": "oil", "t": 1, "value": 90},
            {"signal_name": "oil", "t": 2, "value": 91.5},
            {"signal_id": 7, "t": 3, "value": True},
            ["oil", 1, 92],
            ["abs", 1_700_000_000_250, False],
        ],
        {7: "abs"},
    )
    assert plain(batch) == {
        "oil": [(1.0, 90.0), (2.0, 91.5), (1.0, 92.0)],
        "abs": [(3.0, 1.0), (1_700_000_000.25, 0.0)],
    }
    assert (batch.n_samples, batch.n_rejected) == (5, 0)


def test_what_is_unusable_is_left_out_with_its_reason() -> None:
    batch = read_samples(
        [
            ["ok", 1, 2],
            ["a\n", 1, 2],
            [5, 1, 2],
            ["x", None, 2],
            ["x", 1, None],
            ["x", 1, "2"],
            ["x", True, 2],
            ["x", 1, float("nan")],
            ["x", 1],
            {"signal_id": 9, "t": 1, "value": 2},
            "x",
        ]
    )
    assert plain(batch) == {"ok": [(1.0, 2.0)]}
    assert [(r.index, r.reason) for r in batch.rejected] == [
        (1, NAMES),
        (2, "no name of a signal"),
        (3, "t is no finite number"),
        (4, "value is no finite number"),
        (5, "value is no finite number"),
        (6, "t is no finite number"),
        (7, "value is no finite number"),
        (8, "no name of a signal"),
        (9, "no name of a signal"),
        (10, "no name of a signal"),
    ]


@pytest.mark.parametrize("signals", [None, [], {}, [[]], [["x", 1, None]], [None]])
def test_nothing_usable_is_refused(signals: object) -> None:
    with pytest.raises(BadBatch):
        read_samples(signals)


def test_too_many_are_refused() -> None:
    with pytest.raises(BatchTooLarge):
        read_samples([["x", 1, 1]] * 500_001)
