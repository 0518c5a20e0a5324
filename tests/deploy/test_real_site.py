"""The course itself, built, published and read back through the store's HTTP interface."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from course.publish.hosting import TYPES
from course.publish.tree import read_manifest
from deploy.s3 import main

RESOURCES = ("catalog", "pathways", "roles", "projects", "lessons/read-a-lap")


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "build.py", "build", "--quiet", "--no-cache", "--out", str(site)]
    subprocess.run(command, cwd=root, check=True)
    return site


def test_the_course_goes_up_whole_and_a_second_deploy_finds_nothing_to_do(
    built: Path, endpoint: str, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(built), "s3://paddock/course", "--endpoint-url", endpoint, "--quiet"]
    count = len(read_manifest((built / "build-manifest.json").read_bytes()))
    assert main(command) == 0
    assert capsys.readouterr().out == f"{count:,} uploaded, 0 unchanged, 0 deleted\n"
    assert main(command) == 0
    assert capsys.readouterr().out == f"0 uploaded, {count:,} unchanged, 0 deleted\n"
    for name in RESOURCES:
        with urlopen(f"{endpoint}/paddock/course/api/v1/{name}.json") as answer:
            assert answer.headers["Content-Type"] == "application/json"
            assert json.load(answer)["schemaVersion"] == 1
    with pytest.raises(HTTPError, match="404") as missing:
        urlopen(f"{endpoint}/paddock/course/api/v1/lessons/no-such-lesson.json")
    missing.value.close()


def test_every_kind_of_file_in_the_site_has_a_content_type(built: Path) -> None:
    suffixes = {Path(p).suffix for p in read_manifest((built / "build-manifest.json").read_bytes())}
    assert suffixes - set(TYPES) - {""} == set()
