"""The project's own promises: house rules, commands that exist, links that lead somewhere."""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TEACHING = "content/"  # lesson code, here and in fixtures, shows one idea and has its own checks
VENDORED = "/vendor/"
"""Below this lie files of others, as they published them."""


def tracked() -> list[str]:
    """Paths of the project that git knows or would take in."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return sorted(path for path in listed.split("\0") if path and (ROOT / path).is_file())


def modules() -> list[str]:
    return [p for p in tracked() if p.endswith(".py") and TEACHING not in p]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_module_says_in_one_sentence_what_it_is_for() -> None:
    sentence = re.compile(r'(?:#.*\n)*r?"""(?:(?!\. |"""|\n\n)(?:.|\n))+\.(?:"""|\n\n)')
    # An empty __init__.py only marks a folder.
    assert [path for path in modules() if (text := read(path)) and not sentence.match(text)] == []


FORBIDDEN = {
    "a path of one machine": r"(?<![\w.:/>)}~-])/(?:root|work|home|tmp|Users)/",
    "a package registry": r"pypi\.org|pythonhosted\.org|registry\.npmjs",
    "unfinished work": r"(?:#|//|<!--|/\*)\s*(?:TODO|FIXME|XXX)\b|raise NotImplementedError\b",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    text = re.compile(r"\.(?:py|md|toml|json|ya?ml|js|css|html|j2|txt)$|^Makefile$|^\.ci/run$")
    mine = Path(__file__).relative_to(ROOT).as_posix()
    found = [
        f"{path}: {match[0]}"
        for path in tracked()
        if text.search(path) and path != mine and TEACHING not in path and VENDORED not in path
        if (match := re.search(FORBIDDEN[what], read(path)))
    ]
    assert found == []


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


DOCUMENTS = [
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    *(p for p in tracked() if re.fullmatch(r"docs/[\w-]+\.md", p)),
]
COMMANDS = [*DOCUMENTS, *(p for p in tracked() if p.startswith(".github/workflows/")), ".ci/run"]


@pytest.mark.parametrize("path", COMMANDS)
def test_every_make_command_that_is_written_down_exists(path: str) -> None:
    named = set(re.findall(r"(?:^|`|run: )make ([a-z-]+)", read(path), re.MULTILINE))
    assert named - targets() == set()


@cache
def help_of(*program: str) -> str:
    command = [sys.executable, *program, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return done.stdout


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_that_is_written_down_exists(path: str) -> None:
    calls = re.findall(r"python build\.py ([\w-]+)([^`\n]*)", read(path))
    for command, rest in calls:
        options = set(re.findall(r"(?<!\S)--[\w-]+", rest.partition("#")[0]))
        assert options - set(re.findall(r"--[\w-]+", help_of("build.py", command))) == set()
    for rest in re.findall(r"python -m deploy\.s3 ([^`\n]*)", read(path)):
        options = set(re.findall(r"--[\w-]+", rest))
        assert options - set(re.findall(r"--[\w-]+", help_of("-m", "deploy.s3"))) == set()


def test_the_readme_names_every_command() -> None:
    offered = set(re.findall(r"^    ([a-z][\w-]+)", help_of("build.py"), re.MULTILINE))
    named = set(re.findall(r"^\| `build\.py ([\w-]+)", read("README.md"), re.MULTILINE))
    assert offered == named


@pytest.mark.parametrize("path", DOCUMENTS)
def test_every_link_to_a_file_leads_somewhere(path: str) -> None:
    text = re.sub(r"^(`{3,})\w*\n.*?^\1\n", "", read(path), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [link for link in links if not ((ROOT / path).parent / link).exists()] == []


def test_the_tests_that_hold_the_promises_exist() -> None:
    text = read("SECURITY.md")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert [
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"^(?:async )?def {name}\(", read(path), re.MULTILINE)
    ] == []
    assert re.findall(r"^\| (R\d+) \|", text, re.MULTILINE) == [f"R{n}" for n in range(1, 19)]
    assert len(named) > 60


def test_the_first_two_commands_of_the_readme_are_demo_and_test() -> None:
    assert re.findall(r"^make (\w+)", read("README.md"), re.MULTILINE)[:2] == ["demo", "test"]


def test_every_dependency_says_why_it_is_there() -> None:
    text = read("pyproject.toml").partition("[project]\n")[2].partition("[project.scripts]")[0]
    lines = re.findall(r'^  ".*$', text.partition("dependencies = [")[2], re.MULTILINE)
    assert len(lines) > 30
    assert [line for line in lines if "#" not in line] == []


def test_the_licence_is_the_one_that_the_package_names() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in read("LICENSE")


def test_the_editor_knows_a_schema_for_every_yaml_source() -> None:
    mapped: dict[str, str] = json.loads(read(".vscode/settings.json"))["yaml.schemas"]
    assert [schema for schema in mapped if not (ROOT / schema).is_file()] == []
    sources = set((ROOT / "content").rglob("*.yaml"))
    covered = {path for pattern in mapped.values() for path in ROOT.glob(pattern)}
    assert sources - covered == set()


def workflows() -> dict[str, Any]:
    folder = ROOT / ".github" / "workflows"
    return {path.name: yaml.safe_load(path.read_text()) for path in folder.iterdir()}


@pytest.mark.parametrize(("name", "workflow"), workflows().items(), ids=str)
def test_a_workflow_has_no_right_that_it_does_not_need(name: str, workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    writes = {
        (job, right)
        for job, body in workflow["jobs"].items()
        for right, level in body.get("permissions", {}).items()
        if level == "write"
    }
    assert writes == (
        {("deploy", "pages"), ("deploy", "id-token")} if name == "pages.yml" else set()
    )


@pytest.mark.parametrize(("name", "workflow"), workflows().items(), ids=str)
def test_a_workflow_pins_its_actions_and_ends(name: str, workflow: dict[str, Any]) -> None:
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 30
        for step in job["steps"]:
            action = step.get("uses", "")
            assert not action or re.search(r"@(?:v\d+|[0-9a-f]{40})$", action)
            if action.startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            assert "${{" not in step.get("run", ""), "values reach a shell through env only"


def test_course_and_servers_have_the_same_colours_and_faces() -> None:
    course, servers = (
        dict(re.findall(r"(--[\w-]+): ([^;]+);", read(sheet)))
        for sheet in (
            "course/publish/assets/site.css/10-tokens.css",
            "runtime/web/assets/tokens.css",
        )
    )
    looks = {
        name
        for name in course.keys() & servers.keys()
        if "light-dark" in course[name] or name.endswith("-face")
    }
    assert len(looks) > 12
    assert {name: course[name] for name in looks} == {name: servers[name] for name in looks}
