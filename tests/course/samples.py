"""Small resources of the documented shape for the tests of pages, assets and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from course.publish.assets import bundle
from course.publish.course_pages import CoursePages, not_found_page
from course.publish.lesson_page import LessonPages
from course.publish.shell import Shell, SiteInfo

WORDS = Path(__file__).parents[2] / "content" / "ui" / "en.yaml"
COURSE: dict[str, Any] = {
    "id": "paddock",
    "title": "Paddock: drive with data",
    "summary": "From the first recorded lap to a coach that runs on the device.",
    "lang": "en",
    "version": "1.2.0",
    "updated": "2026-11-20",
    "licence": "CC-BY-4.0",
}


def words() -> tuple[dict[str, str], dict[str, str]]:
    """The English interface words, and the kinds apart."""
    found: dict[str, Any] = yaml.safe_load(WORDS.read_text(encoding="utf-8"))
    kinds = found.pop("kinds")
    return found, kinds


def site(**changes: Any) -> SiteInfo:
    """The site of the samples, with the real assets."""
    interface, kinds = words()
    values: dict[str, Any] = {
        "course": COURSE,
        "words": interface,
        "kinds": kinds,
        "assets": bundle().paths,
        "base_url": None,
    }
    return SiteInfo(**values | changes)


def ref(identity: str, folder: str = "lessons", **more: Any) -> dict[str, Any]:
    """A reference as pages take it."""
    title = identity.replace("-", " ").capitalize()
    return {"id": identity, "title": title, "url": f"{folder}/{identity}/"} | more


def catalog_lesson(identity: str, position: int = 1, **changes: Any) -> dict[str, Any]:
    """An authored lesson as the catalog lists it."""
    return {
        "id": identity,
        "title": identity.replace("-", " ").capitalize(),
        "status": "authored",
        "summary": f"What `{identity}` is about & why it <matters>.",
        "objectives": ["Mark the start of *one* braking event.", "Explain a slow release."],
        "minutes": 35,
        "level": "core",
        "prerequisites": ["read-a-lap"],
        "unlocks": ["trail-braking"],
        "equipment": ["laptop", "track-day"],
        "concepts": ["trail_brake"],
        "tags": ["pressure"],
        "review": "editorial",
        "contentHash": "sha256:" + "0123456789abcdef" * 4,
        "aliases": [],
        "phaseId": "braking",
        "position": position,
        "url": f"lessons/{identity}/",
        "resource": f"api/v1/lessons/{identity}.json",
    } | changes


PARAGRAPH = (
    "Pressure rises within a tenth of a second, stays near its peak while the aerodynamic load "
    "falls with speed, and then bleeds away as the steering angle grows. The <em>release</em> "
    'is where lap time hides: see <a href="../read-a-lap/">how to read a lap</a>. '
)
CODE = (
    '<div class="code" id="code-1"><p class="code-name">load.py</p><pre tabindex="0">'
    '<code class="language-python"><span class="k">def</span> <span class="f">peak</span>'
    '(brake_bar: <span class="b">list</span>[<span class="b">float</span>]) -> float:\n'
    '    <span class="s">"""Highest pressure in bar."""</span>\n'
    '    <span class="k">return</span> <span class="b">max</span>(brake_bar)  '
    '<span class="c"># one value</span>\n</code></pre></div>\n'
    '<div class="code output"><p class="code-name">Output</p><pre tabindex="0"><code>'
    "peak 62.0 bar</code></pre></div>"
    '<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr>'
    '<th>Lap</th><th class="right">Peak bar</th></tr></thead><tbody><tr><td>3</td>'
    '<td class="right">62.0</td></tr></tbody></table></div>'
)
RECAP = (
    '<ul><li>Start, peak, release.<sup class="footnote-reference"><a href="#fn-1">1</a></sup>'
    '</li></ul><blockquote class="markdown-alert-note"><p class="alert">Note</p>'
    f"<p>{PARAGRAPH}</p></blockquote>"
    '<div class="footnote-definition" id="fn-1"><sup>1</sup><p>In that order.</p></div>'
)
BLOCKS = [
    ("intro", "text", "", f"<p>{PARAGRAPH}</p>"),
    ("idea-three-points", "idea", "three points in one curve", f"<p>{PARAGRAPH * 2}</p>"),
    ("example-load-one-corner", "example", "load one corner", CODE),
    ("predict-what-changes", "predict", "what changes", f"<p>{PARAGRAPH}</p>"),
    ("exercise-compare", "exercise", "compare two laps", f"<p>{PARAGRAPH * 2}</p>"),
    ("solution-compare", "solution", "compare two laps", f"<p>{PARAGRAPH}</p>"),
    ("recap", "recap", "", RECAP),
]


def blocks() -> list[dict[str, str]]:
    """Blocks as the Markdown step makes them."""
    found = []
    for anchor, kind, title, html in BLOCKS:
        heading = f'<h2 id="{anchor}"><span class="kind">{kind.title()}</span> {title}</h2>'
        if kind == "text":
            whole = html
        elif kind == "solution":
            whole = f'<details class="solution"><summary>{heading}</summary>{html}</details>'
        else:
            whole = heading + html
        found.append({"id": anchor, "kind": kind, "title": title, "html": whole})
    return found


def question(identity: str, **changes: Any) -> dict[str, Any]:
    """A question with one right option out of four."""
    return {
        "id": identity,
        "stage": "after",
        "kind": "single",
        "prompt": f"Which lap loads the tyre more at turn-in, by `{identity}`?",
        "options": [
            {"id": letter, "text": f"The lap with release {letter} < 0.{n} s", "why": "Because."}
            for n, letter in enumerate("abcd", start=1)
        ],
        "answer": ["b"],
        "explanation": "The longer overlap of pressure and lateral acceleration asks for more.",
    } | changes


def lesson(identity: str = "brake-trace", **changes: Any) -> dict[str, Any]:
    """An authored lesson resource of about 5 kB of body with a quiz of four."""
    toc = [
        {"id": anchor, "level": 2, "title": title or kind.title()}
        for anchor, kind, title, _ in BLOCKS[1:]
    ]
    numeric = {"kind": "numeric", "options": [], "answer": [], "value": 12.5, "unit": "m"}
    return (
        catalog_lesson(identity)
        | {
            "schemaVersion": 1,
            "phase": {"id": "braking", "number": "04", "title": "Braking"},
            "evidence": ["A plot of one braking event.", "One sentence of change."],
            "references": [{"title": "Braking distance", "url": "https://example.org/braking"}],
            "pathwayIds": ["track-coach"],
            "projectIds": [],
            "check": {"prompt": "Which lap asks *more*?", "answer": "The longer overlap.\n\nYes."},
            "content": {
                "markdown": "## Idea: three points\n\nPressure rises, then falls.\n" * 20,
                "blocks": blocks(),
                "toc": toc,
                "code": [],
                "media": [],
            },
            "quiz": {
                "formative": True,
                "label": "Practice questions. Answers are included; this is not an exam.",
                "questions": [
                    question("guess-first", stage="before"),
                    question("second", kind="multiple", answer=["a", "c"]),
                    question("how-far", tolerance=0.5, **numeric),
                    question("fourth", stage="during"),
                ],
            },
            "artifacts": [
                {
                    "kind": kind,
                    "url": url,
                    "mediaType": "text/plain",
                    "bytes": 4200,
                    "sha256": "0" * 64,
                }
                for kind, url in (
                    ("markdown", f"lessons/{identity}/index.md"),
                    ("notebook", f"downloads/{identity}.ipynb"),
                )
            ],
        }
        | changes
    )


def planned_lesson(identity: str = "tyre-window") -> dict[str, Any]:
    """A planned lesson resource: a brief without material."""
    whole = lesson(identity, status="planned", notice="Planned. No lesson material exists yet.")
    gone = ("content", "quiz", "artifacts", "contentHash", "check", "review", "evidence", "minutes")
    return {key: value for key, value in whole.items() if key not in gone}


def related(**changes: Any) -> dict[str, Any]:
    """What the course around a lesson says about it."""
    values: dict[str, Any] = {
        "previous": ref("read-a-lap"),
        "next": ref("trail-braking", status="planned"),
        "prerequisites": [ref("read-a-lap")],
        "unlocks": [ref("trail-braking", status="planned")],
        "concepts": [{"id": "trail_brake", "title": "Trail the brake"}],
        "pathways": [ref("track-coach", "pathways")],
        "projects": [ref("lap-review-kit", "projects")],
    }
    return values | changes


def phase(identity: str = "braking", number: str = "04", **changes: Any) -> dict[str, Any]:
    """A catalog phase with two lessons, the second planned."""
    lessons = [
        catalog_lesson("brake-trace", 1),
        catalog_lesson("tyre-window", 2, status="planned"),
    ]
    return {
        "id": identity,
        "number": number,
        "title": identity.capitalize(),
        "part": "drive",
        "summary": "Braking is the part of a lap where data pays first.",
        "outcome": "You find the braking event of any corner and name one change.",
        "prerequisites": ["first-laps"],
        "equipment": ["laptop"],
        "checkpoint": {"prompt": "Where does braking end?", "answer": "Where pressure is gone."},
        "projectIds": ["lap-review-kit"],
        "references": [{"title": "Friction", "url": "https://example.org/friction"}],
        "url": f"phases/{identity}/",
        "lessons": lessons,
    } | changes


def catalog() -> dict[str, Any]:
    """A catalog of two phases in one part."""
    first = phase("first-laps", "01", lessons=[catalog_lesson("read-a-lap", phaseId="first-laps")])
    return {
        "schemaVersion": 1,
        "course": COURSE,
        "totals": {
            "phases": 2,
            "lessons": 3,
            "authored": 2,
            "planned": 1,
            "minutes": 105,
            "projects": 1,
            "pathways": 1,
        },
        "parts": [{"id": "drive", "title": "Drive with data", "description": "On the track."}],
        "phases": [first, phase()],
        "concepts": [
            {
                "id": "trail_brake",
                "title": "Trail the brake",
                "description": "Bleed the pedal off as the steering builds.",
                "lessonIds": ["brake-trace", "tyre-window"],
            }
        ],
        "retired": [],
        "links": {},
    }


def pathway(**changes: Any) -> dict[str, Any]:
    """A pathway of one phase and one lesson."""
    return {
        "id": "track-coach",
        "title": "Track coach",
        "status": "authored",
        "summary": "Turn recorded laps into one change for the next session.",
        "audience": "Coaches who sit beside drivers.",
        "outcome": "A debrief that one driver repeats.",
        "firstArtifact": "A plot of one braking event.",
        "studyAdvice": "Two lessons a week.",
        "requires": [],
        "steps": [
            {
                "number": 1,
                "phaseId": "braking",
                "title": "Braking",
                "lessonIds": ["brake-trace", "tyre-window"],
            },
            {"number": 2, "title": "Laps", "note": "At the end.", "lessonIds": ["read-a-lap"]},
        ],
        "lessonIds": ["brake-trace", "tyre-window", "read-a-lap"],
        "totals": {"lessons": 3, "authored": 2, "planned": 1, "minutes": 105},
        "capstone": {
            "projectId": "lap-review-kit",
            "assessment": "By the rubric of the project.",
            "evidence": ["A report of two pages."],
        },
        "roleIds": ["driver-coach"],
        "domainIds": ["lap-analysis"],
        "url": "pathways/track-coach/",
    } | changes


def role() -> dict[str, Any]:
    """A role with one milestone."""
    return {
        "id": "driver-coach",
        "title": "Driver coach",
        "headline": "Turns recordings into one change.",
        "summary": "A route for coaches who work with recorded laps.",
        "background": "Time on track.",
        "responsibilities": ["Choose one change."],
        "skills": ["Compare two laps."],
        "pathwayIds": ["track-coach", "data-driven-driver"],
        "defaultPathwayId": "track-coach",
        "milestones": [
            {
                "title": "First debrief",
                "lessonIds": ["brake-trace"],
                "phaseIds": ["braking"],
                "deliverable": "A page.",
                "criteria": ["It names one corner."],
            }
        ],
        "startingChecks": [{"phaseId": "braking", "question": "Where does braking end?"}],
        "workExample": "You compare two laps.\n\nThen you agree on one change.",
        "portfolio": "Three debriefs.",
        "readiness": "A driver repeats your change.",
        "reviewQuestions": ["How do you know?"],
        "scopeNote": "Car setup is not covered.",
        "domainIds": ["lap-analysis"],
        "url": "roles/driver-coach/",
    }


def domain() -> dict[str, Any]:
    """A domain with one role."""
    return {
        "id": "lap-analysis",
        "title": "Lap analysis",
        "headline": "Where the time went.",
        "summary": "From a recording to one sentence.",
        "skills": ["Split a session into laps."],
        "artifact": "A lap report.",
        "pathwayIds": ["track-coach"],
        "defaultPathwayId": "track-coach",
        "roleIds": ["driver-coach"],
        "url": "domains/lap-analysis/",
    }


def project(**changes: Any) -> dict[str, Any]:
    """An authored project of one stage."""
    return {
        "id": "lap-review-kit",
        "title": "Lap review kit",
        "status": "authored",
        "summary": "Import a session, split it into laps and write a report.",
        "pathwayId": "track-coach",
        "equipment": ["laptop"],
        "requiredLessons": [{"id": "brake-trace", "title": "Brake trace", "status": "authored"}],
        "stages": [
            {
                "id": "import-data",
                "number": 1,
                "title": "Import",
                "goal": "Read one recording into rows.",
                "lessonIds": ["brake-trace"],
                "command": "python -m unittest tests.test_import",
                "expected": "Ran 3 tests: OK",
                "evidence": "The test output.",
                "diagnosis": "A wrong unit shows as a speed above 400 km/h.",
            }
        ],
        "rubric": [
            {
                "id": "correct-laps",
                "criterion": "Laps are split at the line.",
                "levels": [
                    {"score": 0, "description": "No laps are found."},
                    {"score": 3, "description": "Every lap time agrees to 0.01 s."},
                ],
            }
        ],
        "prepare": [{"label": "Make an environment", "command": "python -m venv .venv"}],
        "bundle": {"url": "downloads/lap-review-kit.zip", "bytes": 12345, "sha256": "0" * 64},
        "contentHash": "sha256:" + "0" * 64,
        "url": "projects/lap-review-kit/",
    } | changes


def course_pages(shell: Shell, **changes: dict[str, Any]) -> CoursePages:
    """The pages of the course; *changes* replace resources by name."""
    resources: dict[str, dict[str, Any]] = {
        "catalog": catalog(),
        "pathways": {"pathways": [pathway(), pathway(id="data-driven-driver")]},
        "roles": {"roles": [role()], "domains": [domain()]},
        "projects": {"projects": [project()]},
    }
    return CoursePages(shell, **(resources | changes))


def every_page(site: SiteInfo) -> dict[str, str]:
    """Every page of a small course by its path from the site root."""
    shell = Shell(site)
    lessons = LessonPages(shell)
    printed = {
        "brake-trace": lessons.printed(lesson()),
        "tyre-window": lessons.printed(planned_lesson()),
        "read-a-lap": "",
    }
    readmes = {"lap-review-kit": "<p>What you build.</p>"}
    return {
        **dict(course_pages(shell).pages(readmes, printed)),
        "lessons/brake-trace/index.html": lessons.page(lesson(), related(), "content/a/lesson.md"),
        "lessons/tyre-window/index.html": lessons.page(planned_lesson(), related(), "b/lesson.md"),
        "lessons/old-name/index.html": lessons.alias("old-name", lesson()),
        "404.html": not_found_page(shell),
    }
