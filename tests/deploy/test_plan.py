"""Headers, order and difference of an upload, without a store."""

import json

import pytest

from course.publish.hosting import (
    IMMUTABLE,
    REVALIDATE,
    SHORT,
    Stage,
    cache_control,
    content_type,
    stage,
)
from course.publish.tree import File, ManifestError, manifest_bytes, read_manifest
from deploy.s3 import make_plan

HEADERS = [
    ("index.html", "text/html; charset=utf-8", REVALIDATE, Stage.PAGES),
    ("lessons/read-a-lap/index.html", "text/html; charset=utf-8", REVALIDATE, Stage.PAGES),
    ("lessons/read-a-lap/index.md", "text/markdown; charset=utf-8", SHORT, Stage.RESOURCES),
    ("api/v1/catalog.json", "application/json", SHORT, Stage.RESOURCES),
    ("downloads/read-a-lap.ipynb", "application/x-ipynb+json", SHORT, Stage.RESOURCES),
    ("downloads/read-a-lap.py", "text/x-python; charset=utf-8", SHORT, Stage.RESOURCES),
    ("downloads/lap-review-kit.zip", "application/zip", SHORT, Stage.RESOURCES),
    ("corpus/chunks.jsonl", "application/jsonl", SHORT, Stage.RESOURCES),
    ("llms.txt", "text/plain; charset=utf-8", SHORT, Stage.RESOURCES),
    ("sitemap.xml", "application/xml", SHORT, Stage.RESOURCES),
    ("_headers", "text/plain; charset=utf-8", SHORT, Stage.RESOURCES),
    ("assets/site.0123456789ab.css", "text/css; charset=utf-8", IMMUTABLE, Stage.ASSETS),
    ("media/brake.0123456789ab.svg", "image/svg+xml", IMMUTABLE, Stage.ASSETS),
    ("media/brake.svg", "image/svg+xml", SHORT, Stage.ASSETS),
    ("api/v1/lessons/race-20261122.json", "application/json", SHORT, Stage.RESOURCES),
    ("downloads/race-20261122.ipynb", "application/x-ipynb+json", SHORT, Stage.RESOURCES),
    ("print/way-20261122.html", "text/html; charset=utf-8", REVALIDATE, Stage.PAGES),
    ("404.html", "text/html; charset=utf-8", "no-store", Stage.PAGES),
    ("404.json", "application/json", "no-store", Stage.RESOURCES),
    ("strange.bin", "application/octet-stream", SHORT, Stage.RESOURCES),
]


@pytest.mark.parametrize(("path", "kind", "caching", "when"), HEADERS)
def test_the_path_alone_decides_headers_and_stage(
    path: str, kind: str, caching: str, when: Stage
) -> None:
    assert (content_type(path), cache_control(path), stage(path)) == (kind, caching, when)


def site(**digits: str) -> dict[str, File]:
    return {name: File(1, digit * 64) for name, digit in digits.items()}


def test_a_manifest_survives_writing_and_reading() -> None:
    files = site(b="1", a="2")
    assert read_manifest(manifest_bytes(files)) == files
    assert [one["path"] for one in json.loads(manifest_bytes(files))["files"]] == ["a", "b"]


def test_only_what_changed_is_uploaded() -> None:
    plan = make_plan(site(same="1", edited="2", added="3"), site(same="1", edited="9"), {})
    assert plan.changed == ("added", "edited")
    assert (plan.unchanged, plan.obsolete) == (1, ())


def test_what_an_unfinished_run_touched_is_never_taken_as_unchanged() -> None:
    plan = make_plan(site(a="1", b="2"), site(a="1", b="2"), site(a="1", gone="1"))
    assert plan.changed == ("a",)
    assert plan.obsolete == ("gone",)


BAD = [
    b"<html>",
    b"[]",
    b'{"schemaVersion": 2, "files": []}',
    b'{"schemaVersion": 1}',
    b"[" * 100_000,
    b'{"schemaVersion": 1, "files": ["a"]}',
    b'{"schemaVersion": 1, "files": [{"path": "a", "bytes": 1}]}',
    b'{"schemaVersion": 1, "files": [{"path": "a", "bytes": 1, "sha256": "abc"}]}',
]
UNSAFE = ["", "/etc/passwd", "../up", "a/../../b", "a//b", "./a", "a\\..\\b", "a/\0"]


@pytest.mark.parametrize("data", BAD)
def test_a_foreign_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(ManifestError):
        read_manifest(data)


@pytest.mark.parametrize("path", UNSAFE)
def test_a_path_that_leaves_the_folder_is_refused(path: str) -> None:
    files = [{"path": path, "bytes": 1, "sha256": "0" * 64}]
    with pytest.raises(ManifestError, match="unusable path"):
        read_manifest(json.dumps({"schemaVersion": 1, "files": files}).encode())
