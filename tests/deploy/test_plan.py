"""Headers, order and difference of an upload, without a store."""

import json

import pytest

from course.publish.tree import File, ManifestError, manifest_bytes, read_manifest
from deploy.s3 import make_plan


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


UNSAFE = ["", "/etc/passwd", "../up", "a/../../b", "a//b", "./a", "a\\..\\b", "a/\0"]


@pytest.mark.parametrize("path", UNSAFE)
def test_a_path_that_leaves_the_folder_is_refused(path: str) -> None:
    files = [{"path": path, "bytes": 1, "sha256": "0" * 64}]
    with pytest.raises(ManifestError, match="unusable path"):
        read_manifest(json.dumps({"schemaVersion": 1, "files": files}).encode())
