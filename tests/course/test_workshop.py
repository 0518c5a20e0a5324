"""Lessons drafted ahead become the same units as those that are drafted when they are due."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from course.publish import resources
from course.publish.shell import SiteInfo
from course.publish.target import Nowhere
from course.publish.unit import Unit
from course.publish.workshop import Preparing, Reading, Rendering, Task, Workshop
from course.read import graph, load
from course.read.models.view import plain
from course.read.sources import Sources
from tests.course.coursekit import BRAKE_TRACE, edited, write_course

SITE = "https://paddock.example/course/"


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return load.load(write_course(tmp_path), base_url=SITE)


def units(sources: Sources, between: Callable[[Workshop], object]) -> list[Unit]:
    """What a workshop makes of all lessons that asks *between* reading and rendering."""
    assert sources.setup is not None
    assert sources.course is not None
    shop = Workshop(sources.parts, sources.setup, Nowhere(), apart=True)
    list(shop(Reading(list(sources.parts))))
    between(shop)
    linked = graph.build(sources)
    site = SiteInfo(
        course=plain(sources.course),
        words=sources.words,
        kinds=sources.kinds,
        assets={"icon.svg": "i", "site.css": "c", "site.js": "s"},
        base_url=SITE,
    )
    tasks = [
        Task(node.record.folder, {**resources.relations(linked, node, "01"), "printed": True}, "k")
        for node in linked.lessons.values()
    ]
    list(shop(Preparing(site, 1000)))
    return list(shop(Rendering(tasks)))


def all_ahead(shop: Workshop) -> None:
    assert shop.ahead()
    while shop.ahead():
        pass


def test_a_lesson_drafted_ahead_becomes_the_same_unit(sources: Sources) -> None:
    made = units(sources, lambda _shop: None)
    assert len(made) > 2
    assert units(sources, all_ahead) == made
    assert units(sources, Workshop.ahead) == made  # the first of them only


def test_nothing_is_drafted_of_a_course_that_cannot_be_built(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, BRAKE_TRACE, ("status: authored", "status: unheard-of"))
    broken = load.load(root)
    assert broken.setup is not None
    shop = Workshop(broken.parts, broken.setup, Nowhere(), apart=True)
    list(shop(Reading(list(broken.parts))))
    assert not shop.ahead()


def test_a_lesson_links_to_the_address_that_the_command_gives(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    given = load.load(root, base_url="https://other.example")
    assert given.setup is not None
    assert given.setup.base_url == "https://other.example/"
