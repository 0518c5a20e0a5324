"""Synthetic lessons for the speed comparison: the same bodies for our build and for its peers."""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

LESSONS_A_PHASE: Final = 40
PHASES_A_PATHWAY: Final = 50
FIRST: Final = (
    "early late slow quick smooth narrow wide steady double single open closed loaded light hard "
    "soft clean linked outer inner"
).split()
SECOND: Final = (
    "brake throttle steering corner apex exit entry chicane hairpin straight kerb crest dip slope "
    "gear tyre damper sector marker line"
).split()
THIRD: Final = (
    "trace point release peak balance grip angle window map delta rhythm pressure transfer cue "
    "check plot drill study review plan"
).split()
SUBJECTS: Final = (
    "The driver",
    "The recorded trace",
    "A second lap",
    "The front axle",
    "The logger",
    "A careful reader",
    "The coach",
    "This corner",
)
VERBS: Final = "shows hides explains moves delays shortens lengthens confirms".split()
OBJECTS: Final = (
    "the point where the pedal is released",
    "a loss that the lap time alone cannot name",
    "the distance between turn-in and apex",
    "the load on the outer tyre",
    "a difference of two tenths",
    "the moment at which the car stops rotating",
    "what the steering angle does after the apex",
    "the speed carried on to the next straight",
)
TAILS: Final = (
    "when the surface is **dry** and the tyres are warm",
    "as long as `speed_ms` is sampled at *10 Hz* or more",
    "before the next braking zone begins",
    "even if the sector time looks the same",
    "because grip is shared between braking and turning",
    "while the throttle is still closed",
)


class Lesson(NamedTuple):
    """One synthetic lesson: what front matter, quiz and every peer's page are written from."""

    id: str
    title: str
    summary: str
    objectives: tuple[str, str]
    body: str
    prerequisite: str | None


def make_lessons(count: int, seed: int = 1) -> list[Lesson]:
    """Make *count* lessons of about 5 kB; the same count and seed give the same text."""
    names = [" ".join(words) for words in product(FIRST, SECOND, THIRD)]
    chooser = random.Random(seed)
    chooser.shuffle(names)
    ids = [name.replace(" ", "-") for name in names[:count]]
    return [_lesson(chooser, name, ids, index) for index, name in enumerate(names[:count])]


def write_content(lessons: list[Lesson], root: Path) -> None:
    """Write `root/content` with phases, pathways, one domain and one role, ready for build.py."""
    content = root / "content"
    phases = [lessons[i : i + LESSONS_A_PHASE] for i in range(0, len(lessons), LESSONS_A_PHASE)]
    names = [f"{SECOND[i % 20]}-{THIRD[i // 20]}-phase" for i in range(len(phases))]
    for number, (name, members) in enumerate(zip(names, phases, strict=True), start=1):
        folder = content / "phases" / f"{number * 10:04}-{name}"
        _write(folder / "phase.yaml", _phase(name))
        for position, lesson in enumerate(members, start=1):
            home = folder / f"{position * 10:03}-{lesson.id}"
            _write(home / "lesson.md", front_matter(lesson) + lesson.body)
            _write(home / "quiz.yaml", _quiz(lesson))
    parts = [names[i : i + PHASES_A_PATHWAY] for i in range(0, len(names), PHASES_A_PATHWAY)]
    pathways = [f"{FIRST[number]}-laps" for number in range(len(parts))]
    for number, (pathway, part) in enumerate(zip(pathways, parts, strict=True), start=1):
        _write(content / "pathways" / f"{number * 10}-{pathway}.yaml", _pathway(pathway, part))
    _write(content / "domains" / "10-driving.yaml", _domain(pathways))
    role = _role(pathways[0], names[0], lessons[0].id)
    _write(content / "roles" / "10-reader-of-laps.yaml", role)
    _write(content / "course.yaml", _COURSE)
    _write(content / "retired.yaml", "[]\n")
    locked = [
        *(("lesson", f"{lesson.id} authored") for lesson in lessons),
        *(("phase", name) for name in names),
        *(("pathway", name) for name in pathways),
        ("domain", "driving"),
        ("role", "reader-of-laps"),
    ]
    _write(content / "ids.lock", "".join(f"{kind} {name}\n" for kind, name in sorted(locked)))


def front_matter(lesson: Lesson) -> str:
    """The front matter of an authored lesson."""
    needs = f"prerequisites: [{lesson.prerequisite}]\n" if lesson.prerequisite else ""
    return (
        f"---\nid: {lesson.id}\ntitle: {lesson.title}\nstatus: authored\n"
        f"summary: {lesson.summary}\nobjectives:\n"
        f"  - {lesson.objectives[0]}\n  - {lesson.objectives[1]}\n{needs}"
        "minutes: 30\nlevel: core\nequipment: [laptop]\nevidence:\n"
        "  - A plot of one event with its start and its end marked.\n"
        "  - One sentence that names the cause.\n"
        "check:\n  prompt: Two laps have the same time. Which of them leaves more to gain?\n"
        "  answer: The one whose release is slower, because its tyre is loaded for longer.\n"
        "references:\n  - {title: Sample data, url: https://example.org/data}\n---\n\n"
    )


def _lesson(chooser: random.Random, name: str, ids: list[str], index: int) -> Lesson:
    title = name.capitalize()
    link = ids[chooser.randrange(len(ids))]
    return Lesson(
        id=ids[index],
        title=title,
        summary=f"Find the {name} in recorded data and say what it costs.",
        objectives=(f"Mark the {name} of one lap.", f"Explain what the {name} changes."),
        body=_body(chooser, name, link),
        prerequisite=ids[index - 1] if index % LESSONS_A_PHASE else None,
    )


def _body(chooser: random.Random, name: str, link: str) -> str:
    """About 4.2 kB: six headings, prose, a list, a table, two programs, links."""
    rows = "\n".join(
        f"| {n} | {chooser.uniform(20, 60):.1f} | {chooser.uniform(80, 95):.2f} |"
        for n in range(1, 7)
    )
    items = "\n".join(f"- {_sentence(chooser)}" for _ in range(4))
    limit, gain = chooser.randrange(20, 60), chooser.randrange(2, 9)
    return f"""{_paragraph(chooser, 4)}

## Idea: what the {name} is

{_paragraph(chooser, 5)} The lesson [{link}](lesson:{link}) shows the same in another corner.

{items}

## Example: find it in a lap

```python
def first_above(samples: list[float], limit: float = {limit}.0) -> int | None:
    \"\"\"Index of the first sample above the limit.\"\"\"
    for index, value in enumerate(samples):
        if value > limit:  # the pedal is in use from here
            return index
    return None


print(first_above([0.0, 12.5, {limit}.5, 71.0]))
```

{_paragraph(chooser, 3)}

| Lap | Peak pressure in bar | Time in s |
|---:|---:|---:|
{rows}

## Exercise: mark the {name}

{_paragraph(chooser, 4)}

1. {_sentence(chooser)}
2. {_sentence(chooser)}
3. {_sentence(chooser)}

## Solution: mark the {name}

```python
laps = {{"one": [82.1, 83.4, 81.9], "two": [82.6, 82.5, 82.4]}}
for label, times in laps.items():
    spread = max(times) - min(times)
    if spread * {gain} > 1.0:
        print(f"{{label}}: spread {{spread:.2f}} s, look at the release")
```

{_paragraph(chooser, 3)} See [the sample data](https://example.org/data).

## Recap

{_paragraph(chooser, 2)}
"""


def _sentence(chooser: random.Random) -> str:
    words = [chooser.choice(choices) for choices in (SUBJECTS, VERBS, OBJECTS, TAILS)]
    return " ".join(words) + "."


def _paragraph(chooser: random.Random, sentences: int) -> str:
    return " ".join(_sentence(chooser) for _ in range(sentences))


def practice(lesson: Lesson) -> str:
    """The questions of our quiz as Markdown, for generators that know no quiz."""
    parts = ["\n## Practice questions\n"]
    for number, question in enumerate(_questions(lesson), start=1):
        options = "".join(f"- {option}\n" for option in question.options)
        parts.append(
            f"\n**{number}.** {question.prompt}\n\n{options}\n"
            f"Answer: {question.options[question.right]} {_EXPLANATION}\n"
        )
    return "".join(parts)


class _Question(NamedTuple):
    id: str
    stage: str
    prompt: str
    options: tuple[str, ...]
    right: int


def _questions(lesson: Lesson) -> Iterator[_Question]:
    answers = ("at the same point", "a little earlier", "much later", "not at all")
    for number, stage in enumerate(("before", "during", "after", "after"), start=1):
        yield _Question(
            f"question-{FIRST[number]}",
            stage,
            f"What does trace {number} of the {lesson.title.lower()} show?",
            tuple(f"The pedal is released {answer}, case {number}." for answer in answers),
            number - 1,
        )


def _quiz(lesson: Lesson) -> str:
    parts = ["questions:\n"]
    for question in _questions(lesson):
        options = "".join(
            f"      - text: {option}\n" + ("        correct: true\n" * (place == question.right))
            for place, option in enumerate(question.options)
        )
        parts.append(
            f"  - id: {question.id}\n    stage: {question.stage}\n    prompt: {question.prompt}\n"
            f"    options:\n{options}    explanation: {_EXPLANATION}\n"
        )
    return "".join(parts)


def _phase(name: str) -> str:
    return (
        f"id: {name}\ntitle: {name.replace('-', ' ').capitalize()}\npart: all\n"
        "summary: A synthetic phase of forty lessons for the speed comparison.\n"
        "outcome: The reader can mark every event of the phase.\n"
        "checkpoint:\n  prompt: Which event costs most?\n  answer: The one with the slow release.\n"
    )


def _pathway(name: str, phases: list[str]) -> str:
    steps = "".join(f"  - phase: {name}\n" for name in phases)
    return (
        f"id: {name}\ntitle: The {name.replace('-', ' ')}\n"
        "summary: Synthetic lessons in their order.\n"
        "audience: Whoever measures the build.\noutcome: A figure that can be repeated.\n"
        f"firstArtifact: A table.\nstudyAdvice: Do not read it.\nsteps:\n{steps}"
    )


def _domain(pathways: list[str]) -> str:
    line = "One sentence for the speed comparison."
    return (
        f"id: driving\ntitle: Driving\nheadline: {line}\nsummary: {line}\nartifact: A table.\n"
        f"skills: [Read a trace.]\npathways: [{', '.join(pathways)}]\n"
        f"defaultPathway: {pathways[0]}\nroles: [reader-of-laps]\n"
    )


def _role(pathway: str, phase: str, lesson: str) -> str:
    line = "One sentence for the speed comparison."
    texts = "headline summary background portfolio readiness scopeNote workExample".split()
    return (
        "id: reader-of-laps\ntitle: Reader of laps\n"
        + "".join(f"{key}: {line}\n" for key in texts)
        + "".join(f"{key}: [{line}]\n" for key in ("responsibilities", "skills"))
        + f"reviewQuestions: [{line}]\npathways: [{pathway}]\ndefaultPathway: {pathway}\n"
        f"milestones:\n  - title: First\n    lessons: [{lesson}]\n    deliverable: {line}\n"
        f"    criteria: [{line}]\n"
        f"startingChecks:\n  - phase: {phase}\n    question: What does a lap time hide?\n"
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


_EXPLANATION: Final = "The pressure falls in the marked section and nowhere else."
_COURSE: Final = """\
schemaVersion: 1
id: speed-comparison
title: Speed comparison
summary: Synthetic lessons that measure the build.
lang: en
version: 1.0.0
updated: "2026-01-01"
licence: CC0-1.0
parts:
  - id: all
    title: All
    description: Everything.
"""
