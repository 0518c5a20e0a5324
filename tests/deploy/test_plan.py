"""A manifest names no file outside the folder of the site."""

import json

import pytest

from course.publish.tree import ManifestError, read_manifest

UNSAFE = ["", "/etc/passwd", "../up", "a/../../b", "a//b", "./a", "a\\..\\b", "a/\0"]


@pytest.mark.parametrize("path", UNSAFE)
def test_a_path_that_leaves_the_folder_is_refused(path: str) -> None:
    files = [{"path": path, "bytes": 1, "sha256": "0" * 64}]
    with pytest.raises(ManifestError, match="unusable path"):
        read_manifest(json.dumps({"schemaVersion": 1, "files": files}).encode())
