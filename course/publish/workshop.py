"""Reading and rendering of lessons, one after the other, in whatever process it happens."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson

from course.publish.pages import Pages
from course.publish.shell import SiteInfo
from course.publish.target import Target
from course.publish.unit import Draft, Unit, build_unit, draft
from course.read import lesson_reader
from course.read.lesson import KIB, Lesson, Material, Parts, Setup

# Materials that are kept as they are, 25 kB each; the others are packed to 3 kB for 0.1 ms.
_PLAIN: Final = 1500


class Reading(NamedTuple):
    """Read the lessons of these folders; each answer is a record."""

    folders: Sequence[str]


class Task(NamedTuple):
    """One lesson to render: its folder, what the course says about it, and its key."""

    folder: str
    related: Mapping[str, Any]
    key: str


class Rendering(NamedTuple):
    """Render lessons; each answer is a unit whose files lie in the target."""

    tasks: Sequence[Task]


class Preparing(NamedTuple):
    """Get ready to render pages of this site; there is no answer."""

    site: SiteInfo
    page_kib: int


class Workshop:
    """Answers requests; what it has read it keeps until it is rendered.

    ``apart`` says that the one who asks is another process: records go there without their
    material, which stays here.
    """

    def __init__(
        self, parts: Mapping[str, Parts], setup: Setup, target: Target, *, apart: bool
    ) -> None:
        self._parts = parts
        self._setup = setup
        self._target = target
        self._apart = apart
        self._kept: dict[str, Lesson] = {}
        self._packed: dict[str, bytes] = {}
        self._drafts: dict[str, Draft] = {}
        self._to_draw: Iterator[Lesson] = iter(())
        self._pages: Pages | None = None
        self._page_limit = 0

    def __call__(self, request: object) -> Iterator[Any]:
        """The answers to *request*."""
        if isinstance(request, Reading):
            yield from map(self._read, request.folders)
            if all(record.sound for record in self._kept.values()):
                self._to_draw = iter(list(self._kept.values()))
        elif isinstance(request, Preparing):
            self._prepare(request)
        elif isinstance(request, Rendering):
            yield from map(self._render, request.tasks)

    def ahead(self) -> bool:
        """Draft one of the lessons that have been read; False when there is none."""
        record = next(self._to_draw, None)
        if record is None or record.folder in self._packed:
            return False
        self._drafts[record.folder] = self._draft(record)
        return True

    def _prepare(self, request: Preparing) -> None:
        self._to_draw = iter(())
        self._pages = Pages(request.site)
        self._pages.prepare_lessons()
        self._page_limit = request.page_kib * KIB

    def _read(self, folder: str) -> Lesson:
        record = self._kept[folder] = lesson_reader.read(self._parts[folder], self._setup)
        if len(self._kept) > _PLAIN and record.material is not None:
            self._packed[folder] = zlib.compress(orjson.dumps(record.material), level=1)
            record.material = None
        return replace(record, material=None) if self._apart else record

    def _draft(self, record: Lesson) -> Draft:
        """The draft of a lesson with its files in the target."""
        setup = self._setup
        drawn = draft(record, setup.base_url, setup.labels, file_urls=setup.file_urls)
        hashes = drawn.hashes()
        for path, data in drawn.outputs.items():
            drawn.files[path] = self._target.put(path, data, hashes[path])
        drawn.outputs = {}
        return drawn

    def _render(self, task: Task) -> Unit:
        if self._pages is None:
            raise RuntimeError("pages are rendered before their site is known")
        record = self._kept.pop(task.folder, None)
        if record is None:
            record = lesson_reader.read(self._parts[task.folder], self._setup)
        if packed := self._packed.pop(task.folder, None):
            record = replace(record, material=Material(**orjson.loads(zlib.decompress(packed))))
        drawn = self._drafts.pop(task.folder, None) or self._draft(record)
        unit = build_unit(record, drawn, task.related, self._pages, task.key, self._page_limit)
        if len(self._parts) > _PLAIN:
            record.material = None  # one lesson at most is asked for it again
        for path, data in unit.outputs.items():
            unit.files[path] = self._target.put(path, data)
        unit.outputs = {}
        return unit
