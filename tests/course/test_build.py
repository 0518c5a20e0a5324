"""Builds that are interrupted, repeated, refused or run at once leave the site old or new."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import parent_process
from pathlib import Path
from typing import Final

import psutil
import pytest

from course.build import Options, build, check
from course.processes import Crew
from course.publish.tree import MANIFEST, Manifest, Refusal, Stage, listing, lock_output, read_built
from tests.course.coursekit import (
    BRAKE_TRACE,
    LIMIT_S,
    READ_A_LAP,
    contents,
    edited,
    write_course,
)
from tests.effort import repeats
from tests.forker import forking

DOOR = Path(__file__).resolve().parents[2] / "build.py"
BRAKING = "content/phases/20-braking"


@pytest.fixture
def course(tmp_path: Path) -> Options:
    """A small course with a cache and an output folder of its own; its pathway has whole phases."""
    root = write_course(tmp_path / "course")
    steps = ("  - lessons: [brake-trace, tyre-window]\n", "  - phase: braking\n")
    note = ("    note: The shortest way to one braking event.\n", "")
    edited(root, "content/pathways/10-data-driver.yaml", steps, note)
    return Options(root=root, out=tmp_path / "site", cache=tmp_path / "cache")


def cold(options: Options, out: Path) -> dict[str, bytes]:
    """The files of a build without cache and without an earlier output."""
    report = build(Options(root=options.root, out=out))
    assert report.written
    return contents(out)


def change_title(root: Path, word: str) -> None:
    path = root / READ_A_LAP
    text = re.sub(r"^title:.*", f"title: Read a lap {word}", path.read_text(), flags=re.MULTILINE)
    path.write_text(text)


def test_a_second_build_changes_nothing_and_keeps_every_file(course: Options) -> None:
    first = build(course)
    stamps = {path: (course.out / path).stat().st_mtime_ns for path in listing(course.out)}
    second = build(course)
    assert second.changed == 0
    assert second.digest == first.digest
    assert stamps == {path: (course.out / path).stat().st_mtime_ns for path in stamps}


def test_a_failed_check_leaves_the_site_as_it_was(course: Options) -> None:
    build(course)
    before = contents(course.out)
    edited(course.root, BRAKE_TRACE, ("status: authored", "status: autored"))
    report = build(course)
    assert report.errors
    assert not report.written
    assert contents(course.out) == before


def test_a_check_writes_nothing(course: Options, tmp_path: Path) -> None:
    before = set(listing(tmp_path))
    assert not check(course).diagnostics
    assert set(listing(tmp_path)) == before


def test_a_renamed_lesson_takes_its_old_files_with_it(course: Options) -> None:
    build(course)
    before = set(listing(course.out))
    old = course.root / BRAKING / "20-tyre-window"
    text = (old / "lesson.md").read_text().replace("id: tyre-window", "id: tyre-heat")
    (old / "lesson.md").write_text(text)
    old.rename(old.with_name("20-tyre-heat"))
    (course.root / "content/ids.lock").unlink()
    report = build(course)
    assert report.written, report.diagnostics
    gone = before - set(listing(course.out))
    assert "lessons/tyre-window/index.html" in gone
    assert "api/v1/lessons/tyre-window.json" in gone
    assert not (course.out / "lessons/tyre-window").exists()


def test_a_file_that_was_deleted_from_the_site_comes_back(course: Options) -> None:
    build(course)
    before = contents(course.out)
    (course.out / "lessons/brake-trace/index.html").unlink()
    (course.out / "api/v1/catalog.json").write_bytes(b"{}")
    assert build(course).written
    assert contents(course.out) == before


def test_foreign_files_stop_the_build_and_force_keeps_them(course: Options) -> None:
    build(course)
    (course.out / "CNAME").write_text("example.org\n")
    with pytest.raises(Refusal, match="CNAME") as refusal:
        build(course)
    assert refusal.value.code == "CFG003"
    change_title(course.root, "again")
    forced = Options(root=course.root, out=course.out, cache=course.cache, force=True)
    assert build(forced).written
    assert (course.out / "CNAME").read_text() == "example.org\n"
    assert "CNAME" not in (read_built(course.out) or {})


def test_a_folder_that_no_build_made_is_refused(course: Options) -> None:
    course.out.mkdir()
    (course.out / "thesis.txt").write_text("years of work")
    with pytest.raises(Refusal) as refusal:
        build(course)
    assert refusal.value.code == "CFG003"
    assert (course.out / "thesis.txt").read_text() == "years of work"


def test_a_second_build_at_the_same_time_is_refused(course: Options) -> None:
    with lock_output(course.out), pytest.raises(Refusal) as refusal:
        build(course)
    assert refusal.value.code == "CFG004"
    assert build(course).written


@pytest.mark.parametrize(
    ("survive", "number"), [(0, errno.EACCES), (1, errno.ENOSPC), (7, errno.EBUSY)]
)
def test_a_write_that_fails_leaves_the_site_as_it_was(
    course: Options, monkeypatch: pytest.MonkeyPatch, survive: int, number: int
) -> None:
    build(course)
    before = contents(course.out)
    change_title(course.root, "again")
    left = survive
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(number, os.strerror(number))
        return real(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(Refusal) as refusal:
            build(course)
    assert refusal.value.code == "CFG005"
    assert contents(course.out) == before
    assert build(course).written


def test_on_windows_too_every_byte_is_written_as_it_is(
    course: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = 1 << 30
    real_open, real_write = os.open, os.write
    in_text_mode: set[int] = set()

    def opened(path: str, flags: int, mode: int = 0o777) -> int:
        descriptor = real_open(path, flags & ~binary, mode)
        (in_text_mode.discard if flags & binary else in_text_mode.add)(descriptor)
        return descriptor

    def write(descriptor: int, data: bytes) -> int:
        if descriptor in in_text_mode:
            real_write(descriptor, bytes(data).replace(b"\n", b"\r\n"))
            return len(data)
        return real_write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "O_BINARY", binary, raising=False)
        patch.setattr(os, "open", opened)
        patch.setattr(os, "write", write)
        build(course)
    assert not build(replace(course, verify=True)).changed


def test_a_replacement_cut_between_its_two_renames_is_undone(course: Options) -> None:
    build(course)
    before = contents(course.out)
    course.out.rename(course.out.parent / ".site.old")
    assert Stage(course.out).live is not None
    assert contents(course.out) == before


def test_systems_without_an_exchange_of_folders_build_too(
    course: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.publish.tree._exchange", lambda one, other: False)
    build(course)
    for word in ("one", "two", "three"):
        change_title(course.root, word)
        assert build(course).changed
        assert contents(course.out) == cold(course, course.out.parent / f"cold-{word}")


def foreign(data: bytes) -> bytes:
    return b'{"content/phases/20-braking/10-brake-trace": {"key": 3}}'


def changed(data: bytes) -> bytes:
    return re.sub(rb'"chunks":"[^"]', b'"chunks":"x', data)


@pytest.mark.parametrize("spoil", [foreign, changed])
def test_a_cache_of_other_bytes_than_were_written_is_none(
    course: Options, spoil: Callable[[bytes], bytes]
) -> None:
    build(course)
    expected = contents(course.out)
    assert course.cache is not None
    path = course.cache / "lessons.json"
    spoilt = spoil(path.read_bytes())
    assert spoilt != path.read_bytes()
    path.write_bytes(spoilt)
    (course.out / "corpus" / "chunks.jsonl").unlink()
    assert build(course).written
    assert contents(course.out) == expected


def test_a_cache_cannot_make_a_build_write_outside_its_folder(course: Options) -> None:
    build(course)
    stage = Stage(course.out)
    for path in ("../stolen", "/etc/stolen", "a/../../stolen", "a\\b", ""):
        with pytest.raises(Refusal):
            stage.put(path, b"x")
    stage.close()
    assert not (course.out.parent / "stolen").exists()


def test_options_that_change_the_bytes_are_not_served_from_the_cache(course: Options) -> None:
    build(course)
    other = Options(
        root=course.root, out=course.out, cache=course.cache, base_url="https://example.org/c/"
    )
    assert build(other).written
    assert "sitemap.xml" in listing(course.out)
    assert contents(course.out) == cold_with(other)
    assert build(course).written
    assert "sitemap.xml" not in listing(course.out)


def cold_with(options: Options) -> dict[str, bytes]:
    out = options.out.parent / "cold"
    assert build(Options(root=options.root, out=out, base_url=options.base_url)).written
    return contents(out)


def edit_at_random(chooser: random.Random, root: Path, number: int) -> None:
    """A new title, or a lesson that comes, goes, moves or changes; test_edits has the rest."""
    braking = root / BRAKING
    lessons = [path for path in braking.iterdir() if path.is_dir() and "extra" in path.name]
    what = chooser.choice(["title", "add", "delete", "move", "text"])
    if what == "title":
        change_title(root, f"number {number}")
    elif what == "add" or not lessons:
        folder = braking / f"{chooser.randrange(300, 900)}-extra-{number}x"
        folder.mkdir()
        (folder / "lesson.md").write_text(
            f"---\nid: extra-{number}x\ntitle: Extra {number}\nstatus: planned\n"
            "summary: A brief that a random edit has added to the phase.\n"
            f"objectives: [Name the extra number {number}.]\nprerequisites: [brake-trace]\n---\n"
        )
    elif what == "delete":
        victim = chooser.choice(lessons)
        (victim / "lesson.md").unlink()
        victim.rmdir()
    elif what == "move":
        victim = chooser.choice(lessons)
        victim.rename(braking / f"{chooser.randrange(300, 900)}-{victim.name.partition('-')[2]}")
    else:
        path = chooser.choice(lessons) / "lesson.md"
        path.write_text(path.read_text().replace("A brief", "One brief"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_edits_equal_cold_builds(course: Options, tmp_path: Path) -> None:
    (course.root / "content/ids.lock").unlink()
    chooser = random.Random(99)
    count = repeats(15)
    for number in range(count):
        edit_at_random(chooser, course.root, number)
        report = build(course)
        assert report.written, report.diagnostics
        if number % 3 and number != count - 1:
            continue
        fresh = build(Options(root=course.root, out=tmp_path / "cold"))
        assert fresh.digest == report.digest
        if number % 15 == 0:
            assert contents(course.out) == contents(tmp_path / "cold")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_build_killed_at_any_point_leaves_the_old_or_the_new_site(course: Options) -> None:
    build(course)
    words = ["build", "--quiet", "--root", str(course.root)]
    words += ["--out", str(course.out), "--cache", str(course.cache)]
    with forking("course.cli") as forker:
        lengths = []
        for measured in range(3):
            change_title(course.root, f"measured {measured}")
            started = time.monotonic()
            forker.start(words)
            forker.wait()
            lengths.append(time.monotonic() - started)
        states = {"old": 0, "new": 0}
        points = repeats(15)
        for point in range(points):
            old = read_built(course.out)
            change_title(course.root, f"round {point}")
            process = forker.start(words)
            time.sleep(min(lengths) * 1.2 * point / points)
            with suppress(ProcessLookupError):  # it may be done
                os.kill(process, signal.SIGKILL)
            forker.wait()
            states["new" if whole(course.out, f"round {point}", old) else "old"] += 1
        assert states["old"]
        forker.start(words)
        forker.wait()
    assert contents(course.out) == cold(course, course.out.parent / "cold")


def whole(out: Path, word: str, old: Manifest | None) -> bool:
    """Whether the site is the new one, which has the word; it must be one of the two."""
    now = read_built(out)
    assert now is not None
    assert {path: file.bytes for path, file in now.items()} == {
        path: size for path, size in listing(out).items() if path != MANIFEST
    }
    page = (out / "lessons/read-a-lap/index.html").read_text()
    assert (word in page) == (now != old)
    return now != old


def test_two_processes_at_once_end_with_one_refusal_or_two_good_builds(course: Options) -> None:
    command = [sys.executable, str(DOOR), "build", "--root", str(course.root)]
    command += ["--out", str(course.out), "--no-cache"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate()[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 2])
    if codes == [0, 2]:
        assert "CFG004" in "".join(answers)
    assert contents(course.out) == cold(course, course.out.parent / "cold")


def test_a_file_that_changes_while_a_build_runs_is_seen_by_the_next_one(
    course: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Stage.finish

    def late(stage: Stage, foreign: list[str]) -> int:
        change_title(course.root, "again")
        return finish(stage, foreign)

    monkeypatch.setattr(Stage, "finish", late)
    build(course)
    monkeypatch.undo()
    assert build(course).changed > 0
    assert contents(course.out) == cold(course, course.out.parent / "cold")


@pytest.mark.parametrize("jobs", [1, 2, 3, 5])
def test_the_number_of_processes_does_not_change_the_output(course: Options, jobs: int) -> None:
    report = build(Options(root=course.root, out=course.out, jobs=jobs))
    assert contents(course.out) == cold(course, course.out.parent / "cold")
    assert report.lessons == 3


def test_an_error_in_a_second_process_is_raised_in_the_first(
    course: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no page today")

    monkeypatch.setattr("course.publish.lesson.pages.read_facts", broken)
    with pytest.raises(RuntimeError, match="no page today"):
        build(Options(root=course.root, out=course.out, jobs=2))
    assert not course.out.exists()


@pytest.fixture
def crew(monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew[list[str]]]:
    """Three processes, as in a program of one thread: what other tests left keeps none away."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    opened = Crew[list[str]]([], 3)
    yield opened
    opened.close()


ITEMS: Final = {str(number): number for number in range(100)}


def refuse(*_: object) -> None:
    time.sleep(0.01)
    if parent_process():
        raise Refusal("CFG005", "full", "free some")


def test_a_refusal_in_another_process_is_raised_as_it_was(crew: Crew[list[str]]) -> None:
    with pytest.raises(Refusal) as refusal:
        list(crew.map(refuse, ITEMS))
    assert (refusal.value.code, str(refusal.value), refusal.value.hint) == (
        "CFG005",
        "full",
        "free some",
    )


def die(*_: object) -> None:
    time.sleep(0.01)
    if parent_process():
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_an_error_and_no_endless_wait(crew: Crew[list[str]]) -> None:
    with pytest.raises(ChildProcessError):
        list(crew.map(die, ITEMS))


def begin_item(memory: list[str], number: int) -> tuple[int, int]:
    """Remember *number*; returns it, and who did so."""
    time.sleep(0.001)
    memory.append(str(number))
    return number, os.getpid()


def test_every_item_is_done_once_and_in_order_by_several_processes(crew: Crew[list[str]]) -> None:
    results = list(crew.map(begin_item, ITEMS))
    assert [number for number, _ in results] == [*range(100)]
    assert len({process for _, process in results}) > 1


WORK: Final = """
import os, time
from course.processes import Crew
this = os.getpid()
def work(*_):
    if os.getpid() != this:
        print(os.getpid(), flush=True)
    time.sleep(60)
list(Crew(None, 2).map(work, {"1": 1, "2": 2}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks for processes as Linux names them")
def test_whoever_kills_a_build_leaves_none_of_its_processes_behind() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORK],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    ) as build:
        assert build.stdout is not None
        worker = psutil.Process(int(build.stdout.readline()))
        build.kill()
    until = time.monotonic() + LIMIT_S
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.05)
