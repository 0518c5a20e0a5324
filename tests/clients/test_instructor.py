"""`instructor`: validated objects by tools, by schema and as a stream of partial ones."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.clients.conftest import Served

instructor = pytest.importorskip(
    "instructor", reason="the clients are not installed: make test-clients"
)
pytestmark = pytest.mark.filterwarnings("default")

ASKED: Any = [{"role": "user", "content": "Paris is the capital of France. Extract it."}]


class Place(BaseModel):
    """A city and its country."""

    city: str = Field(max_length=30)
    country: str = Field(max_length=30)


def client(served: Served, mode: str) -> Any:
    import openai

    plain = openai.OpenAI(base_url=served.url, api_key="none", timeout=60)
    return instructor.from_openai(plain, mode=getattr(instructor.Mode, mode))


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_an_object_is_extracted(served: Served, mode: str) -> None:
    place = client(served, mode).chat.completions.create(
        model=served.model,
        messages=ASKED,
        response_model=Place,
        max_retries=0,
        max_tokens=80,
        temperature=0,
    )
    assert isinstance(place, Place)


def test_partial_objects_are_streamed(served: Served) -> None:
    parts = list(
        client(served, "JSON_SCHEMA").chat.completions.create_partial(
            model=served.model,
            messages=ASKED,
            response_model=Place,
            max_retries=0,
            max_tokens=80,
            temperature=0,
        )
    )
    assert len(parts) > 2
    assert parts[-1].city
