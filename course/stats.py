"""`build.py stats`: counts what the course contains, what is planned and what nothing leads to."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import orjson

from course.build import Options, link_course
from course.read.graph import Graph, LessonNode

_PRETTY: Final = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
# Minutes of planned lessons are estimates, and no part of "minutes".
_FIGURES: Final = (
    "lessons",
    "authored",
    "planned",
    "minutes",
    "plannedMinutes",
    "words",
    "questions",
)
_SHOWN: Final = tuple(name for name in _FIGURES if name != "plannedMinutes")
Counts = dict[str, int]  # by the names of _FIGURES


def stats(options: Options, form: str = "text") -> int:
    """The command: print the figures as ``text`` or ``json``; returns 0."""
    _, graph = link_course(options)
    figures = collect(graph)
    text = orjson.dumps(figures, option=_PRETTY).decode() if form == "json" else as_text(figures)
    sys.stdout.write(text)
    return 0


def collect(graph: Graph) -> dict[str, Any]:
    """The figures of *graph*; lessons with errors are only named in ``unreadable``."""
    sources = graph.sources
    parts = {part.id: _none() for part in sources.course.parts} if sources.course else {}
    phases = {name: _none() for name in graph.phases}
    total, equipment = _none(), Counter[str]()
    for node in graph.lessons.values():
        groups = [total, phases[node.phase.id]]
        if node.phase.view is not None:
            groups.append(parts.setdefault(node.phase.view.part, _none()))
        for name, figure in _count(graph, node).items():
            for counts in groups:
                counts[name] += figure
        equipment.update(node.view.equipment)
    return {
        "total": total,
        "parts": parts,
        "phases": phases,
        "orphans": [name for name in graph.lessons if name not in graph.lesson_pathways],
        "concepts": {item.id: graph.taught.get(item.id, []) for item in sources.concepts},
        "equipment": dict(sorted(equipment.items(), key=lambda pair: (-pair[1], pair[0]))),
        "unreadable": [item.file for item in sources.lessons() if item.id not in graph.lessons],
    }


def _none() -> Counts:
    return dict.fromkeys(_FIGURES, 0)


def _count(graph: Graph, node: LessonNode) -> Counts:
    minutes = node.view.minutes or 0
    if not node.authored:
        return {"lessons": 1, "planned": 1, "plannedMinutes": minutes}
    material = graph.sources.material(node.record)
    words, questions = len(material.content["markdown"].split()), len(material.questions)
    counts = {"lessons": 1, "authored": 1, "minutes": minutes}
    return counts | {"words": words, "questions": questions}


def as_text(figures: dict[str, Any]) -> str:
    """The figures as tables for people."""
    rows: list[tuple[str, ...]] = [("", *_SHOWN)]
    rows += [_row(name, counts) for name, counts in figures["phases"].items()]
    rows += [_row(f"part {name}", counts) for name, counts in figures["parts"].items()]
    rows.append(_row("course", figures["total"]))
    concepts = {name: ", ".join(lessons) for name, lessons in figures["concepts"].items()}
    equipment = {name: f"{number:,}" for name, number in figures["equipment"].items()}
    texts = [
        _table(rows),
        _section("concepts", _pairs(concepts)),
        _section("equipment", _pairs(equipment)),
        _section("lessons in no pathway", figures["orphans"]),
    ]
    if figures["unreadable"]:
        texts.append(_section("not counted, because they have errors", figures["unreadable"]))
    if minutes := figures["total"]["plannedMinutes"]:
        texts.append(f"planned lessons: about {minutes:,} minutes more\n")
    return "\n".join(texts)


def _row(name: str, counts: Counts) -> tuple[str, ...]:
    return (name, *(f"{counts[figure]:,}" for figure in _SHOWN))


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
