"""The built course as its readers and programs meet it: resources, companions, pages, addresses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from course.build import Options, build
from tests.course.coursekit import LAP_KIT, edited, write_course
from tests.course.sitekit import (
    Page,
    built,
    crawl,
    data,
    files,
    get,
    lessons,
    listed,
    pages,
    resource,
    served,
)

RESOURCES = ("catalog", "pathways", "roles", "projects")
CONCEPTS = {
    "trail_brake",
    "early_brake_release",
    "exit_speed",
    "full_commitment",
    "brake_end_focus",
    "downhill_braking",
    "uphill_braking",
    "late_apex",
    "look_ahead",
}


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real course, built once."""
    return built(root, tmp_path_factory.mktemp("built") / "site")


def assert_resources_valid(site: Path) -> None:
    """Every resource fits the schema that the site publishes."""
    checks = {
        name: jsonschema_rs.validator_for(data(site, f"schemas/v1/{name}.v1.schema.json"))
        for name in (*RESOURCES, "lesson", "error")
    }
    named = [(name, resource(site, name)) for name in RESOURCES]
    named += [("lesson", lesson) for lesson in lessons(site).values()]
    named.append(("error", data(site, "404.json")))
    problems = [
        f"{name} {value.get('id', '')}: {error.instance_path} {error.message}"
        for name, value in named
        for error in checks[name].iter_errors(value)
    ]
    assert problems == []


# The interface


def test_every_resource_fits_its_published_schema(site: Path) -> None:
    assert len(lessons(site)) == len(listed(site)) > 20
    assert_resources_valid(site)


def test_the_published_schemas_are_those_of_the_project(site: Path, root: Path) -> None:
    published = {p.name: p.read_bytes() for p in (site / "schemas/v1").iterdir()}
    index = json.loads(published.pop("index.json"))
    strict = {p.name: json.loads(p.read_bytes()) for p in (root / "schemas/course").iterdir()}
    assert published.keys() == strict.keys()
    for name, text in published.items():
        assert "examples" not in json.loads(text)
        assert (b'"additionalProperties": false' in text) == (
            ".v1." not in name and '"additionalProperties": false' in json.dumps(strict[name])
        )
    assert index["schemaVersion"] == 1
    assert [entry["url"] for entry in index["schemas"]] == [
        f"schemas/v1/{name}" for name in sorted(published)
    ]
    for entry in index["schemas"]:
        assert entry["url"] == f"schemas/v1/{entry['name']}.schema.json"
        assert entry["title"] == data(site, entry["url"])["title"]


def test_every_link_of_the_catalog_leads_to_a_file(site: Path) -> None:
    links = resource(site, "catalog")["links"]
    links["lessonTemplate"] = links["lessonTemplate"].format(lessonId=listed(site)[0]["id"])
    assert [name for name, link in links.items() if not (site / link).is_file()] == []


def test_the_body_of_a_page_is_made_of_the_blocks_of_its_resource(site: Path) -> None:
    alerts = 0
    for name, lesson in lessons(site).items():
        html = (site / f"lessons/{name}/index.html").read_text("utf-8")
        at = 0
        for block in lesson.get("content", {"blocks": []})["blocks"]:
            at = html.index(block["html"], at) + len(block["html"])
            alerts += block["html"].count('<p class="alert">')
            assert block["html"].count("<blockquote class=") == block["html"].count('class="alert"')
        assert html.count('class="alert"') == sum(
            block["html"].count('class="alert"')
            for block in lesson.get("content", {"blocks": []})["blocks"]
        )
    assert alerts > 3


def test_the_full_text_has_no_link_that_only_the_build_can_read(site: Path) -> None:
    text = (site / "llms-full.txt").read_text("utf-8")
    linked = re.findall(r"\]\(((?:lessons|phases|concepts|projects)/[^)#]*)", text)
    assert "](lesson:" not in text
    assert len(linked) > 20
    assert [one for one in linked if not (site / one / "index.html").is_file()] == []


def test_the_catalog_and_the_lessons_tell_the_same(site: Path) -> None:
    resources = lessons(site)
    for entry in listed(site):
        lesson = resources[entry["id"]]
        assert {key: lesson.get(key) for key in entry} == entry
        authored = entry["status"] == "authored"
        for key in ("content", "quiz", "artifacts", "contentHash", "check"):
            assert (key in lesson) is authored, (entry["id"], key)
        assert {"content", "quiz", "artifacts"} & set(entry) == set()


def test_totals_count_what_is_there(site: Path) -> None:
    catalog, every = resource(site, "catalog"), listed(site)
    totals = catalog["totals"]
    assert totals["lessons"] == len(every) == totals["authored"] + totals["planned"]
    authored = [lesson for lesson in every if lesson["status"] == "authored"]
    assert totals["authored"] == len(authored)
    assert totals["minutes"] == sum(lesson["minutes"] for lesson in authored)
    for name in ("pathways", "projects"):
        assert totals[name] == len(resource(site, name)[name])


def test_a_content_hash_is_that_of_the_resource(site: Path) -> None:
    hashed = [one for one in lessons(site).values() if "contentHash" in one]
    hashed += resource(site, "projects")["projects"]
    assert len(hashed) > 20
    for one in hashed:
        bare = {key: value for key, value in one.items() if key not in ("contentHash", "revision")}
        text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert one["contentHash"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_files_that_a_resource_names_have_the_given_size_and_digest(site: Path) -> None:
    named = [project["bundle"] for project in resource(site, "projects")["projects"]]
    for lesson in lessons(site).values():
        named += lesson.get("artifacts", [])
        named += lesson.get("content", {}).get("media", [])
    assert len(named) > 80
    for file in named:
        content = (site / file["url"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (
            len(content),
            hashlib.sha256(content).hexdigest(),
        )


def test_the_manifest_lists_every_other_file(site: Path) -> None:
    manifest = {file.pop("path"): file for file in data(site, "build-manifest.json")["files"]}
    found = {p.relative_to(site).as_posix(): p.read_bytes() for p in files(site)}
    del found["build-manifest.json"]
    assert manifest == {
        path: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in found.items()
    }


def test_the_concepts_are_those_of_the_coach_and_each_has_a_lesson(site: Path) -> None:
    concepts = {entry["id"]: entry["lessonIds"] for entry in resource(site, "catalog")["concepts"]}
    assert set(concepts) == CONCEPTS
    taught = {one["id"]: one for one in listed(site)}
    for concept, ids in concepts.items():
        assert ids
        assert all(concept in taught[lesson]["concepts"] for lesson in ids)
        assert any(taught[lesson]["status"] == "authored" for lesson in ids)


# Other courses


def test_a_course_without_a_lesson_is_built(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "course"
    shutil.copytree(root / "content/media", home / "content/media")
    (home / "content/course.yaml").write_bytes((root / "content/course.yaml").read_bytes())
    site = built(home, tmp_path / "site")
    assert_resources_valid(site)
    assert resource(site, "catalog")["phases"] == []
    with served(site) as host:
        assert crawl(host.url).bad() == {}


def test_a_planned_project_has_no_bundle(tmp_path: Path) -> None:
    root = write_course(tmp_path / "course")
    source = root / LAP_KIT / "project.yaml"
    brief = source.read_text("utf-8").partition("prepare:")[0]
    source.write_text(brief.replace("status: authored", "status: planned"))
    edited(root, f"{LAP_KIT}/README.md", ("## Files", "> [!TIP]\n> Later.\n\n## Files"))
    site = built(root, tmp_path / "site")
    (project,) = resource(site, "projects")["projects"]
    assert (project["status"], "bundle" in project) == ("planned", False)
    assert not (site / "downloads/lap-kit.zip").exists()
    page = (site / "projects/lap-kit/index.html").read_text("utf-8")
    assert "lap-kit.zip" not in page
    assert '<blockquote class="markdown-alert-tip"><p class="alert">Tip</p>' in page
    assert_resources_valid(site)


def test_file_urls_reach_every_list_of_pages(tmp_path: Path) -> None:
    root = write_course(tmp_path / "course")
    base = "https://example.org/c/"
    site = tmp_path / "site"
    assert build(Options(root=root, out=site, base_url=base, file_urls=True)).written
    places = re.findall("<loc>(.*?)</loc>", (site / "sitemap.xml").read_text("utf-8"))
    assert f"{base}index.html" in places
    for place in places:
        assert (site / place.removeprefix(base)).is_file(), place
    for name in ("llms.txt", "llms-full.txt", "feed.xml"):
        text = (site / name).read_text("utf-8")
        named = re.findall(r"(?:\]\(|Page: |href=\")([^)\s\"]+)", text)
        own = [one.removeprefix(base) for one in named if "://" not in one.removeprefix(base)]
        assert own
        for one in own:
            assert (site / one.partition("#")[0]).is_file(), (name, one)
    assert listed(site)[0]["url"].endswith("/")


RETIRED = "content/retired.yaml"


def test_an_alias_answers_the_whole_current_resource(tmp_path: Path) -> None:
    site = built(write_course(tmp_path / "course"), tmp_path / "site")
    old, new = (site / f"api/v1/lessons/{name}.json" for name in ("brake-curve", "brake-trace"))
    assert old.read_bytes() == new.read_bytes()
    assert data(site, "api/v1/lessons/brake-curve.json")["aliases"] == ["brake-curve"]
    page = Page((site / "lessons/brake-curve/index.html").read_text("utf-8"))
    assert page.links.count("../../lessons/brake-trace/") >= 2
    assert "brake-curve" not in {lesson["id"] for lesson in listed(site)}


@pytest.mark.parametrize("successor", ["read-a-lap", "null"])
def test_a_retired_lesson_is_there_only_when_it_has_a_successor(
    tmp_path: Path, successor: str
) -> None:
    entry = f"- id: lap-times\n  replacedBy: {successor}\n  since: 1.1.0\n  reason: It is over.\n"
    site = built(write_course(tmp_path / "course", {RETIRED: entry}), tmp_path / "site")
    after = yaml.safe_load(successor)
    assert [one["replacedBy"] for one in resource(site, "catalog")["retired"]] == [after]
    with served(site, "/course/") as host:
        status, _, body = get(f"{host.url}api/v1/lessons/lap-times.json")
    assert status == (404 if after is None else 200)
    assert after is None or json.loads(body)["id"] == after


# Addresses


@pytest.fixture(scope="module")
def crawls(site: Path) -> dict[str, Any]:
    """What a crawl from the start page finds, by prefix."""
    found = {}
    for prefix in ("/", "/course/", "/a/b/"):
        with served(site, prefix) as host:
            found[prefix] = crawl(host.url)
    return found


@pytest.mark.parametrize("prefix", ["/", "/course/", "/a/b/"])
def test_every_link_stays_below_the_prefix_and_leads_somewhere(
    crawls: dict[str, Any], prefix: str
) -> None:
    assert crawls[prefix].bad() == {}
    assert crawls[prefix].outside == []
    assert crawls[prefix].reached == crawls["/"].reached


def test_every_page_is_reached_from_the_start_page(site: Path, crawls: dict[str, Any]) -> None:
    every = {path.removesuffix("index.html") for path in pages(site)} - {"404.html"}
    assert every - set(crawls["/"].reached) == set()


@pytest.mark.parametrize("path", ["lessons/nowhere/", "api/v1/lessons/nowhere.json"])
def test_an_unknown_lesson_is_not_there(site: Path, path: str) -> None:
    with served(site, "/a/b/") as host:
        assert get(host.url + path)[0] == 404


# The bytes


def run_build(root: Path, out: Path, *arguments: str, umask: int = -1, **env: str) -> Path:
    """Build in a process of its own; returns the site."""
    command = [sys.executable, str(root / "build.py"), "build", "--root", str(root), "--quiet"]
    done = subprocess.run(
        [*command, "--no-cache", "--out", str(out), *arguments],
        cwd=out.parent,
        env={**os.environ, **env},
        umask=umask,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def tree(site: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder with its mode, files with their bytes."""
    return {
        path.relative_to(site).as_posix(): (
            path.stat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in site.rglob("*")
    }


def test_the_source_date_changes_the_date_and_nothing_else(
    site: Path, root: Path, tmp_path: Path
) -> None:
    other = run_build(root, tmp_path / "other", SOURCE_DATE_EPOCH="1000000000")
    updated = resource(site, "catalog")["course"]["updated"].encode()
    here, there = tree(site), tree(other)
    changed = {path for path in here if here[path][1] != there[path][1]} - {"build-manifest.json"}
    assert resource(other, "catalog")["course"]["updated"] == "2001-09-09"
    assert {"api/v1/catalog.json", "index.html"} <= changed
    for path in changed:
        assert there[path][1].replace(b"2001-09-09", updated) == here[path][1], path


def test_no_output_knows_this_machine_or_the_time(site: Path, root: Path) -> None:
    words = [str(root), str(site.parent), str(Path.home()) + "/", socket.gethostname(), sys.prefix]
    known = [word.encode() for word in words if len(word) > 4]
    clock = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d")
    found = [
        (path.name, word)
        for path in files(site)
        for word in (*known, *clock.findall(path.read_bytes()))
        if word in path.read_bytes()
    ]
    assert found == []
    for path in site.glob("downloads/*.zip"):
        with zipfile.ZipFile(path) as bundle:
            assert {entry.date_time for entry in bundle.infolist()} == {(1980, 1, 1, 0, 0, 0)}


# The companions


def test_a_passage_of_the_corpus_has_its_size_and_a_place(site: Path) -> None:
    lines = (site / "corpus/chunks.jsonl").read_text("utf-8").splitlines()
    chunks = [json.loads(line) for line in lines]
    found = {path.removesuffix("index.html"): page.ids for path, page in pages(site).items()}
    authored = {lesson["id"] for lesson in listed(site) if lesson["status"] == "authored"}
    assert {chunk["lessonId"] for chunk in chunks} == authored
    assert len({chunk["id"] for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        page, _, anchor = chunk["url"].partition("#")
        assert 200 <= len(chunk["text"]) <= 800, chunk["id"]
        assert not anchor or anchor in found[page], chunk["url"]
        assert page in found
