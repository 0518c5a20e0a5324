"""Which vectors of an upstream are taken."""

import json

import pytest

from runtime.llm.models.daemon import DaemonTrouble
from runtime.llm.models.upstreams.forwarding import read_vectors


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "one vector per text"),
        ([{"index": 0, "embedding": [1]}], "one vector per text"),
        ([{"index": 0, "embedding": [1]}] * 2, "one vector per text"),
        ([{"index": at, "embedding": [1] * (at + 1)} for at in (0, 1)], "one vector per text"),
        ([{"index": at, "embedding": "!!"} for at in (0, 1)], "one vector per text"),
        ([{"index": at, "embedding": [[1]]} for at in (0, 1)], "one vector per text"),
        ([{"index": at, "embedding": ["a"]} for at in (0, 1)], "one vector per text"),
        ([{"index": [at], "embedding": [1]} for at in (0, 1)], "one vector per text"),
        (
            [{"index": at, "embedding": [1e300]} for at in (0, 1)],
            "not finite numbers|one vector per text",
        ),
        ("x", "one vector per text"),
    ],
)
def test_what_is_no_vector_of_each_text_is_refused(data: object, complaint: str) -> None:
    with pytest.raises(DaemonTrouble, match=complaint):
        read_vectors(json.dumps({"data": data}).encode(), 2)
    with pytest.raises(DaemonTrouble, match="not JSON"):
        read_vectors(b"{", 2)
