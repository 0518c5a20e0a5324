"""`build.py stats`: what the course holds, what is planned, and what nothing leads to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from course.build import link_course
from course.options import Options
from course.read.graph import Graph, LessonNode
from course.read.lesson import Material

_PRETTY: Final = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
_HEAD: Final = ("", "lessons", "authored", "planned", "minutes", "words", "questions")


@dataclass(slots=True)
class Counts:
    """Sums over some lessons; ``planned_minutes`` are estimates and not part of ``minutes``."""

    lessons: int = 0
    authored: int = 0
    minutes: int = 0
    planned_minutes: int = 0
    words: int = 0
    questions: int = 0

    @property
    def planned(self) -> int:
        """Lessons that are announced and not yet written."""
        return self.lessons - self.authored

    def add(self, node: LessonNode, material: Material) -> None:
        """Count one more lesson."""
        self.lessons += 1
        minutes = node.view.minutes or 0
        if node.authored:
            self.authored += 1
            self.minutes += minutes
            self.words += len(material.markdown.split())
            self.questions += len(material.questions)
        else:
            self.planned_minutes += minutes

    def as_json(self) -> dict[str, int]:
        """The JSON form."""
        return {
            "lessons": self.lessons,
            "authored": self.authored,
            "planned": self.planned,
            "minutes": self.minutes,
            "plannedMinutes": self.planned_minutes,
            "words": self.words,
            "questions": self.questions,
        }


@dataclass(slots=True)
class Stats:
    """The figures of a course; ``phases`` and ``parts`` by id in course order."""

    total: Counts = field(default_factory=Counts)
    phases: dict[str, Counts] = field(default_factory=dict)
    parts: dict[str, Counts] = field(default_factory=dict)
    orphans: list[str] = field(default_factory=list)
    concepts: dict[str, list[str]] = field(default_factory=dict)
    equipment: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The JSON form: camelCase names, every list sorted or in course order."""
        return {
            "total": self.total.as_json(),
            "parts": {name: counts.as_json() for name, counts in self.parts.items()},
            "phases": {name: counts.as_json() for name, counts in self.phases.items()},
            "orphans": self.orphans,
            "concepts": self.concepts,
            "equipment": self.equipment,
            "unreadable": self.unreadable,
        }


def stats(options: Options, form: str = "text") -> int:
    """The command: print the figures as ``text`` or ``json``; returns 0."""
    found = collect(options)
    sys.stdout.write(as_json(found) if form == "json" else as_text(found))
    return 0


def collect(options: Options) -> Stats:
    """The figures of the course; lessons with errors are only named in ``unreadable``."""
    _, graph = link_course(options)
    return of(graph)


def of(graph: Graph) -> Stats:
    """The figures of *graph*."""
    found = Stats()
    course = graph.sources.course
    for part in course.parts if course else ():
        found.parts[part.id] = Counts()
    for name, phase in graph.phases.items():
        found.phases[name] = Counts()
        if phase.item.view is not None:
            found.parts.setdefault(phase.item.view.part, Counts())
    equipment: Counter[str] = Counter()
    for node in graph.lessons.values():
        view = node.phase.item.view
        material = graph.sources.material(node.record)
        around = [found.total, found.phases[node.phase.item.id]]
        for counts in around + ([found.parts[view.part]] if view is not None else []):
            counts.add(node, material)
        equipment.update(node.view.equipment)
    found.equipment = dict(sorted(equipment.items(), key=lambda pair: (-pair[1], pair[0])))
    found.orphans = [name for name in graph.lessons if name not in graph.lesson_pathways]
    found.concepts = {one.id: graph.taught.get(one.id, []) for one in graph.sources.concepts}
    records = graph.sources.lessons()
    found.unreadable = [one.file for one in records if one.id not in graph.lessons]
    return found


def as_text(found: Stats) -> str:
    """The figures as tables for people."""
    rows: list[tuple[str, ...]] = [_HEAD]
    rows += [_row(name, counts) for name, counts in found.phases.items()]
    rows += [_row(f"part {name}", counts) for name, counts in found.parts.items()]
    rows.append(_row("course", found.total))
    parts = [
        _table(rows),
        _section("concepts", _pairs({k: ", ".join(v) for k, v in found.concepts.items()})),
        _section("equipment", _pairs({k: f"{n:,}" for k, n in found.equipment.items()})),
        _section("lessons in no pathway", found.orphans),
    ]
    if found.unreadable:
        parts.append(_section("not counted, because they have errors", found.unreadable))
    if found.total.planned_minutes:
        parts.append(f"planned lessons: about {found.total.planned_minutes:,} minutes more\n")
    return "\n".join(parts)


def as_json(found: Stats) -> str:
    """The figures as JSON with a final line feed."""
    return orjson.dumps(found.as_json(), option=_PRETTY).decode()


def _row(name: str, counts: Counts) -> tuple[str, ...]:
    figures = (
        counts.lessons,
        counts.authored,
        counts.planned,
        counts.minutes,
        counts.words,
        counts.questions,
    )
    return (name, *(f"{figure:,}" for figure in figures))


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *figures in rows:
        cells = [name.ljust(widths[0])]
        cells += [figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _pairs(values: dict[str, str]) -> list[str]:
    width = max(map(len, values), default=0)
    return [f"{name.ljust(width)}  {value or 'no lesson'}" for name, value in values.items()]


def _section(head: str, lines: Iterable[str]) -> str:
    return f"{head}\n" + "".join(f"  {line}\n" for line in lines or ["none"])
