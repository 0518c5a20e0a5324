"""A lake in an object store: exported to a local S3-compatible server, and made into a season."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest

from runtime.bridge.commands import exports, seasons
from runtime.bridge.storage.lake.layout import Lake
from tests.bridge.bridgekit import bridging, settings_for
from tests.bridge.commands.test_exports import TRACK, contents, export, fill
from tools.lake import fill_lake

PLACE = "s3://paddock/season"


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An S3 client with one empty bucket, which the usual environment variables name."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint,
    }.items():
        monkeypatch.setenv(name, value)
    with urlopen(f"{endpoint}/moto-api/reset", data=b"") as answer:
        assert answer.status == 200
    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="paddock")
    yield client
    client.close()


def objects(bucket: Any) -> dict[str, bytes]:
    """Every object below the lake."""
    listed = bucket.list_objects_v2(Bucket="paddock", Prefix="season/").get("Contents", [])
    names = [one["Key"] for one in listed]
    return {
        name.removeprefix("season/"): bucket.get_object(Bucket="paddock", Key=name)["Body"].read()
        for name in names
    }


@pytest.fixture
async def folder(tmp_path: Path, backend: str) -> Path:
    """Where a database with two sessions lies."""
    async with bridging(settings_for(tmp_path, db_backend=backend)) as bridge:
        await fill(bridge, "ada", "ben")
    return tmp_path


async def send(folder: Path, backend: str, place: str = PLACE) -> int:
    flags = ["--all", "--lake", place, "--db", str(folder / "db"), "--db-backend", backend]
    return await asyncio.to_thread(exports.main, flags)


async def test_an_object_store_gets_the_same_files_and_nothing_else(
    folder: Path, backend: str, bucket: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    capsys.readouterr()
    assert await send(folder, backend) == 0
    assert objects(bucket) == contents(folder / "lake")
    assert await send(folder, backend) == 0
    said = capsys.readouterr().out.splitlines()
    assert sorted(said[-2:]) == ["ada: unchanged", "ben: unchanged"]

    async with bridging(settings_for(folder, db_backend=backend)) as bridge:
        await bridge.ok("PATCH", "/session/ben", {"car": "../Car 4"})
    name = next(name for name in objects(bucket) if "ada/session.parquet" in name)
    bucket.put_object(Bucket="paddock", Key=f"season/{name}", Body=b"PAR1")
    assert await send(folder, backend) == 0
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    assert {name: data for name, data in objects(bucket).items() if data} == contents(
        folder / "lake"
    )


def test_a_file_of_any_size_is_written_and_read(bucket: Any) -> None:
    lake = Lake.open(PLACE)
    for size in (0, 1, 5 << 20, (5 << 20) + 1, 23 << 20):
        data = os.urandom(size)
        lake.put("season=2026/car=x/session=y/telemetry.parquet", data)
        assert lake.read("season=2026/car=x/session=y/telemetry.parquet") == data


async def test_a_bucket_that_is_not_there_is_said(
    folder: Path, backend: str, bucket: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await send(folder, backend, "s3://elsewhere/season") == 2
    assert capsys.readouterr().err.startswith("export: ")
    assert seasons.main(["--lake", "s3://elsewhere/season"]) == 2
    assert capsys.readouterr().err.startswith("season: ")


def test_a_season_is_the_same_from_there(
    bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_lake(PLACE, TRACK, 3, laps=2)
    fill_lake(str(tmp_path / "lake"), TRACK, 3, laps=2)

    assert seasons.main(["--lake", PLACE]) == 0
    assert seasons.main(["--lake", str(tmp_path / "lake")]) == 0
    assert objects(bucket) == contents(tmp_path / "lake")
    assert seasons.main(["--lake", PLACE]) == 0
    words = [line.partition(";") for line in capsys.readouterr().out.splitlines()]
    assert [word[0] for word in words] == [
        "3 sessions, 3 of them computed",
        "3 sessions, 3 of them computed",
        "3 sessions, 0 of them computed",
    ]
    assert len({word[2] for word in words}) == 1
