"""Synthetic lessons for the comparison of builds: the same bodies for ours and its peers."""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from bench.common import ROOT

LESSONS_A_PHASE: Final = 40
WORDS: Final = """
    angle apex axle balance brake camber chicane clutch corner crest cue curve damper delta dip
    distance drill entry exit front gear grip hairpin inner kerb lap line load logger map marker
    moment outer path pedal phase plot point pressure rear release review rhythm road sample sector
    signal slip slope speed stage steering straight surface target throttle time trace track tyre
    wheel window early late slow quick smooth narrow wide steady double single open closed light
    hard soft clean shows hides explains moves delays shortens lengthens confirms loses gains
""".split()
OPTIONS: Final = ("at the same point", "a little earlier", "much later", "not at all")
STAGES: Final = ("before", "during", "after", "after")
EXPLANATION: Final = "The pressure falls in the marked section and nowhere else."
BODY: Final = '''\
@prose

## Idea: what the @name is

@prose The lesson [@link](lesson:@link) shows the same in another corner.

- @sentence
- @sentence
- @sentence
- @sentence

## Example: find it in a lap

```python
def first_above(samples: list[float], limit: float = @number.0) -> int | None:
    """Index of the first sample above the limit."""
    for index, value in enumerate(samples):
        if value > limit:  # the pedal is in use from here
            return index
    return None


print(first_above([0.0, 12.5, @number.5, 71.0]))
```

@prose

| Lap | Peak pressure in bar | Time in s |
|---:|---:|---:|
| 1 | @number.1 | @number.25 |
| 2 | @number.4 | @number.75 |
| 3 | @number.9 | @number.31 |
| 4 | @number.7 | @number.08 |

## Exercise: mark the @name

@prose

1. @sentence
2. @sentence
3. @sentence

## Solution: mark the @name

```python
laps = {"one": [82.1, 83.4, 81.9], "two": [82.6, 82.5, 82.4]}
for label, times in laps.items():
    spread = max(times) - min(times)
    if spread * @number > 1.0:
        print(f"{label}: spread {spread:.2f} s, look at the release")
```

@prose See [the sample data](https://example.org/data).

## Recap

@prose
'''


class Lesson(NamedTuple):
    """A synthetic lesson, from which our sources and those of the peers are written."""

    id: str
    front_matter: dict[str, Any]
    body: str
    questions: list[dict[str, Any]]
    """Its quiz."""

    def write(self, path: Path, *, practice: bool = False) -> None:
        """Write the source; with *practice*, the questions follow as Markdown."""
        text = f"---\n{_yaml(self.front_matter)}---\n\n{self.body}"
        if practice:
            text += "\n## Practice questions\n"
            for question in self.questions:
                options = "".join(f"- {option['text']}\n" for option in question["options"])
                answer = next(o["text"] for o in question["options"] if "correct" in o)
                text += (
                    f"\n**{question['prompt']}**\n\n{options}\nAnswer: {answer}. {EXPLANATION}\n"
                )
        write(path, text)


def make_lessons(count: int) -> list[Lesson]:
    """Make *count* lessons of about 5 kB; the same count gives the same text."""
    chooser = random.Random(1)
    names = [f"{' '.join(chooser.choices(WORDS, k=2))} {number}" for number in range(count)]
    ids = [name.replace(" ", "-") for name in names]
    before = [ids[at - 1 : at] if at % LESSONS_A_PHASE else [] for at in range(count)]
    return [_make_lesson(chooser, *lesson, ids) for lesson in zip(ids, names, before, strict=True)]


def _make_lesson(
    chooser: random.Random, lesson: str, name: str, before: list[str], ids: list[str]
) -> Lesson:
    """Make a lesson; *before* holds the id of the lesson that it builds on, if any."""

    def say() -> str:
        first, second, third, *others = chooser.choices(WORDS, k=12)
        return f"The {' '.join(others)} is **{first}** where `{second}` is *{third}*."

    link = chooser.choice(ids)
    parts: dict[str, Callable[[], str]] = {
        "prose": lambda: " ".join(say() for _ in range(4)),
        "sentence": say,
        "number": lambda: str(chooser.randrange(20, 60)),
        "name": lambda: name,
        "link": lambda: link,
    }
    front_matter = {
        "id": lesson,
        "title": name.capitalize(),
        "status": "authored",
        "summary": f"Find the {name} in recorded data and say what it costs.",
        "objectives": [f"Mark the {name} of one lap.", f"Explain what the {name} changes."],
        "prerequisites": before,
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
    questions = [
        {
            "id": f"question-{number}",
            "stage": stage,
            "prompt": f"Number {number}: where does the {name} begin in the faster lap?",
            "options": [
                {"text": option, **({"correct": True} if option == right else {})}
                for option in OPTIONS
            ],
            "explanation": EXPLANATION,
        }
        for number, (stage, right) in enumerate(zip(STAGES, OPTIONS, strict=True), start=1)
    ]
    body = re.sub(r"@(\w+)", lambda part: parts[part[1]](), BODY)
    return Lesson(lesson, front_matter, body, questions)


def write_content(lessons: list[Lesson], root: Path) -> None:
    """Write `root/content`: our own course, with the lessons at the end of one of its pathways."""
    content = root / "content"
    shutil.copytree(ROOT / "content", content)
    part = yaml.safe_load((content / "course.yaml").read_text("utf-8"))["parts"][0]["id"]
    phases = []
    for number, first in enumerate(range(0, len(lessons), LESSONS_A_PHASE)):
        phases.append(f"synthetic-phase-{number}")
        folder = content / "phases" / f"{9000 + number}-{phases[-1]}"
        fields = {
            "id": phases[-1],
            "title": f"Synthetic phase {number}",
            "part": part,
            "summary": "A synthetic phase of forty lessons for the speed comparison.",
            "outcome": "The reader can mark every event of the phase.",
            "checkpoint": {"prompt": "Which event costs most?", "answer": "The slow release."},
        }
        write(folder / "phase.yaml", _yaml(fields))
        for place, lesson in enumerate(lessons[first : first + LESSONS_A_PHASE], start=1):
            home = folder / f"{place * 10:03}-{lesson.id}"
            lesson.write(home / "lesson.md")
            write(home / "quiz.yaml", _yaml({"questions": lesson.questions}))
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


def _yaml(fields: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(fields, sort_keys=False, width=1000)
    return text
