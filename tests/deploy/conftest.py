"""A local S3-compatible store that speaks real HTTP."""

from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import boto3
import pytest


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An S3 client with one empty, public bucket."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "none",
        "AWS_SHARED_CREDENTIALS_FILE": "none",
    }.items():
        monkeypatch.setenv(name, value)
    with urlopen(f"{endpoint}/moto-api/reset", data=b"") as answer:
        assert answer.status == 200
    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="paddock", ACL="public-read")
    yield client
    client.close()
