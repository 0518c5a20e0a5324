"""Resources for the tests of pages and search: the examples of the schemas, with more on them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from course.publish.course_pages import CoursePages, not_found_page
from course.publish.lesson import LessonPages, catalog_entry
from course.publish.shell import Shell, SiteInfo, bundle
from tests.course import schemakit

WORDS = Path(__file__).parents[2] / "course" / "read" / "words.yaml"
COURSE: dict[str, Any] = {
    "id": "paddock",
    "title": "Paddock: drive with data",
    "summary": "From the first recorded lap to a coach that runs on the device.",
    "lang": "en",
    "version": "1.2.0",
    "updated": "2026-11-20",
    "licence": "CC-BY-4.0",
    "equipment": [
        {"id": "laptop", "title": "Laptop"},
        {"id": "track-day", "title": "Track day"},
    ],
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


def example(name: str, kind: str = "") -> dict[str, Any]:
    """The first example of a resource, or of its entries of one *kind*."""
    whole: dict[str, Any] = copy.deepcopy(schemakit.load(f"{name}.v1")["examples"][0])
    return whole[kind][0] if kind else whole


def ref(identity: str, folder: str = "lessons", **more: Any) -> dict[str, Any]:
    """A reference as pages take it."""
    title = identity.replace("-", " ").capitalize()
    return {"id": identity, "title": title, "url": f"{folder}/{identity}/"} | more


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
    """An authored lesson resource with a quiz of four."""
    whole = example("lesson")
    toc = [
        {"id": anchor, "level": 2, "title": title or kind.title()}
        for anchor, kind, title, _ in BLOCKS[1:]
    ]
    markdown = "## Idea: three points\n\nPressure rises, then falls.\n" * 20
    whole["content"] |= {"markdown": markdown, "blocks": blocks(), "toc": toc}
    numeric = {"kind": "numeric", "options": [], "answer": [], "value": 12.5, "unit": "m"}
    whole["quiz"]["questions"] = [
        question("guess-first", stage="before"),
        question("second", kind="multiple", answer=["a", "c"]),
        question("how-far", tolerance=0.5, **numeric),
        question("fourth", stage="during"),
    ]
    more = {
        "id": identity,
        "title": identity.replace("-", " ").capitalize(),
        "url": f"lessons/{identity}/",
        "resource": f"api/v1/lessons/{identity}.json",
        "summary": f"What `{identity}` is about & why it <matters>.",
        "objectives": ["Mark the start of *one* braking event.", "Explain a slow release."],
        "equipment": ["laptop", "track-day"],
        "tags": ["pressure"],
        "review": "editorial",
        "contentHash": "sha256:" + "0123456789abcdef" * 4,
        "references": [{"title": "Braking distance", "url": "https://example.org/braking"}],
        "pathwayIds": ["track-coach"],
    }
    return whole | more | changes


def planned_lesson(identity: str = "tyre-window") -> dict[str, Any]:
    """A planned lesson resource: a brief without material."""
    whole = lesson(identity, status="planned", notice="Planned. No lesson material exists yet.")
    gone = ("content", "quiz", "artifacts", "contentHash", "check", "review", "evidence", "minutes")
    return {key: value for key, value in whole.items() if key not in gone}


def related(**changes: Any) -> dict[str, Any]:
    """What the course around a lesson says about it."""
    values: dict[str, Any] = {
        "before": ref("read-a-lap"),
        "after": ref("trail-braking", status="planned"),
        "along": [ref("tyre-window") | {"pathway": "Track coach"}],
        "prerequisites": [ref("read-a-lap")],
        "unlocks": [ref("trail-braking", status="planned")],
        "concepts": [{"id": "trail_brake", "title": "Trail the brake"}],
        "pathways": [ref("track-coach", "pathways")],
        "projects": [ref("lap-review-kit", "projects")],
    }
    return values | changes


def phase(identity: str = "braking", **changes: Any) -> dict[str, Any]:
    """A catalog phase with two lessons, the second planned."""
    lessons = [catalog_entry(lesson()), catalog_entry(lesson("tyre-window", status="planned"))]
    more = {"id": identity, "url": f"phases/{identity}/", "lessons": lessons}
    return example("catalog", "phases") | more | {"projectIds": ["lap-review-kit"]} | changes


def catalog() -> dict[str, Any]:
    """A catalog of two phases in one part."""
    first = [catalog_entry(lesson("read-a-lap", phaseId="first-laps"))]
    phases = [phase("first-laps", number="01", lessons=first), phase()]
    return example("catalog") | {"course": COURSE, "phases": phases}


def pathway(**changes: Any) -> dict[str, Any]:
    """A pathway of one phase and one lesson."""
    lessons = ["brake-trace", "tyre-window", "read-a-lap"]
    more = {"id": "track-coach", "title": "Track coach", "url": "pathways/track-coach/"}
    whole = example("pathways", "pathways") | more | {"lessonIds": lessons}
    for step, names in zip(whole["steps"], (lessons[:2], lessons[2:]), strict=True):
        step["lessonIds"] = names
    return whole | {"domainIds": ["lap-analysis"]} | changes


def role() -> dict[str, Any]:
    """A role with one milestone."""
    return example("roles", "roles") | {"pathwayIds": ["track-coach", "data-driven-driver"]}


def domain() -> dict[str, Any]:
    """A domain with one role."""
    return example("roles", "domains")


def project(**changes: Any) -> dict[str, Any]:
    """An authored project of one stage."""
    required = [{"id": "brake-trace", "title": "Brake trace", "status": "authored"}]
    more = {"pathwayId": "track-coach", "requiredLessons": required}
    return example("projects", "projects") | more | changes


def course_pages(shell: Shell, **changes: dict[str, Any]) -> CoursePages:
    """The pages of the course; *changes* replace resources by name."""
    resources: dict[str, dict[str, Any]] = {
        "catalog": catalog(),
        "pathways": {"pathways": [pathway(), pathway(id="data-driven-driver")]},
        "roles": {"roles": [role()], "domains": [domain()]},
        "projects": {"projects": [project()]},
    }
    names = ("catalog", "pathways", "roles", "projects")
    return CoursePages(shell, *((resources | changes)[name] for name in names))


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
        **dict(course_pages(shell).pages(readmes)),
        **dict(course_pages(shell).printed(printed)),
        "lessons/brake-trace/index.html": lessons.page(lesson(), related(), "content/a/lesson.md"),
        "lessons/tyre-window/index.html": lessons.page(planned_lesson(), related(), "b/lesson.md"),
        "lessons/old-name/index.html": lessons.alias("old-name", lesson()),
        "404.html": not_found_page(shell),
    }
