"""Synthetic lessons for the comparison of builds: the same bodies for ours and its peers."""

import random
import shutil
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from bench.common import ROOT

LESSONS_A_PHASE: Final = 40
PART: Final = yaml.safe_load((ROOT / "content" / "course.yaml").read_text("utf-8"))["parts"][0][
    "id"
]
STAGES: Final = ("before", "during", "after", "after")
OPTIONS: Final = ("at the same point", "a little earlier", "much later", "not at all")
EXPLANATION: Final = "The pressure falls in the marked section and nowhere else."
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
    """A synthetic lesson, from which our sources and those of the peers are written."""

    id: str
    title: str
    body: str
    prerequisite: str | None

    @property
    def questions(self) -> list[str]:
        """The questions of its quiz; the answer to question *n* is option *n*."""
        name = self.title.lower()
        return [f"Number {n}: where does the {name} begin in the faster lap?" for n in range(1, 5)]


def make_lessons(count: int) -> list[Lesson]:
    """Make *count* lessons of about 5 kB; the same count gives the same text."""
    names = [" ".join(words) for words in product(FIRST, SECOND, THIRD)]
    chooser = random.Random(1)
    chooser.shuffle(names)
    ids = [name.replace(" ", "-") for name in names[:count]]
    return [
        Lesson(
            id=ids[index],
            title=name.capitalize(),
            body=_body(chooser, name, chooser.choice(ids)),
            prerequisite=ids[index - 1] if index % LESSONS_A_PHASE else None,
        )
        for index, name in enumerate(names[:count])
    ]


def write_content(lessons: list[Lesson], root: Path) -> None:
    """Write `root/content`: our own course, with the lessons at the end of one of its pathways."""
    content = root / "content"
    shutil.copytree(ROOT / "content", content)
    phases = {}
    for number, first in enumerate(range(0, len(lessons), LESSONS_A_PHASE)):
        name = f"{SECOND[number % 20]}-{THIRD[number // 20]}-phase"
        phases[name] = lessons[first : first + LESSONS_A_PHASE]
        folder = content / "phases" / f"{9000 + number}-{name}"
        write(folder / "phase.yaml", _yaml(_phase(name)))
        for position, lesson in enumerate(phases[name], start=1):
            home = folder / f"{position * 10:03}-{lesson.id}"
            write(home / "lesson.md", front_matter(lesson) + lesson.body)
            write(home / "quiz.yaml", _yaml(_quiz(lesson)))
    pathway = next((content / "pathways").iterdir())
    fields = yaml.safe_load(pathway.read_text("utf-8"))
    write(pathway, _yaml(fields | {"steps": [*fields["steps"], *({"phase": p} for p in phases)]}))
    locked = (content / "ids.lock").read_text("utf-8").splitlines()
    locked += [f"lesson {lesson.id} authored" for lesson in lessons]
    locked += [f"phase {name}" for name in phases]
    write(content / "ids.lock", "".join(f"{line}\n" for line in sorted(locked)))


def write(path: Path, text: str) -> None:
    """Write a file and create its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def front_matter(lesson: Lesson) -> str:
    """The front matter of an authored lesson."""
    name = lesson.title.lower()
    fields = {
        "id": lesson.id,
        "title": lesson.title,
        "status": "authored",
        "summary": f"Find the {name} in recorded data and say what it costs.",
        "objectives": [f"Mark the {name} of one lap.", f"Explain what the {name} changes."],
        "prerequisites": [lesson.prerequisite] if lesson.prerequisite else [],
        "minutes": 30,
        "level": "core",
        "equipment": ["laptop"],
        "evidence": ["A plot of one event with its start and its end marked."],
        "check": {
            "prompt": "Two laps have the same time. Which of them leaves more to gain?",
            "answer": "The one whose release is slower, because its tyre is loaded for longer.",
        },
        "references": [{"title": "Sample data", "url": "https://example.org/data"}],
    }
    return f"---\n{_yaml(fields)}---\n\n"


def practice(lesson: Lesson) -> str:
    """The questions of the quiz as Markdown, for generators without quizzes."""
    options = "".join(f"- {option}\n" for option in OPTIONS)
    return "\n## Practice questions\n" + "".join(
        f"\n**{n + 1}.** {prompt}\n\n{options}\nAnswer: {OPTIONS[n]}. {EXPLANATION}\n"
        for n, prompt in enumerate(lesson.questions)
    )


def _yaml(fields: Mapping[str, object]) -> str:
    text: str = yaml.safe_dump(fields, sort_keys=False, width=1000)
    return text


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


def _quiz(lesson: Lesson) -> dict[str, object]:
    questions = [
        {
            "id": f"{name}-question",
            "stage": stage,
            "prompt": prompt,
            "options": [
                {"text": option, **({"correct": True} if option == right else {})}
                for option in OPTIONS
            ],
            "explanation": EXPLANATION,
        }
        for name, stage, prompt, right in zip(
            SECOND, STAGES, lesson.questions, OPTIONS, strict=False
        )
    ]
    return {"questions": questions}


def _phase(name: str) -> dict[str, object]:
    return {
        "id": name,
        "title": name.replace("-", " ").capitalize(),
        "part": PART,
        "summary": "A synthetic phase of forty lessons for the speed comparison.",
        "outcome": "The reader can mark every event of the phase.",
        "checkpoint": {"prompt": "Which event costs most?", "answer": "The slow release."},
    }
