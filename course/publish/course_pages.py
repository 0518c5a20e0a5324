"""The pages of the course as a whole, from its API resources: indexes, phases, pathways, roles."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from course.publish import look
from course.publish.lesson import is_printable
from course.publish.search import fold
from course.publish.shell import DEEP, FLAT, TEMPLATES, TOP, Frame, Ref, Resource, Shell, plain

Page = tuple[str, str]  # path from the site root, HTML


class CoursePages:
    """Renders every page that is not a lesson's own.

    *catalog*, *pathways*, *roles* and *projects* are the resources of those names, *hero* is the
    figure of the home page.
    """

    def __init__(
        self,
        shell: Shell,
        catalog: Resource,
        pathways: Resource,
        roles: Resource,
        projects: Resource,
        *,
        hero: str = "",
    ) -> None:
        self._shell = shell
        self._words = shell.words
        self._hero = hero
        self._catalog = catalog
        self._phases: Sequence[Resource] = catalog["phases"]
        self._pathways: Sequence[Resource] = pathways["pathways"]
        self._roles: Sequence[Resource] = roles["roles"]
        self._domains: Sequence[Resource] = roles["domains"]
        self._projects: Sequence[Resource] = projects["projects"]
        self._lessons = {
            lesson["id"]: lesson for phase in self._phases for lesson in phase["lessons"]
        }
        # Only lessons say in a list that they are planned.
        self._refs: dict[str, dict[str, Ref]] = {
            kind: {entry["id"]: {key: entry[key] for key in ("id", "title", "url")} for entry in of}
            for kind, of in (
                ("phase", self._phases),
                ("pathway", self._pathways),
                ("role", self._roles),
                ("domain", self._domains),
                ("project", self._projects),
            )
        }
        self._refs["lesson"] = {**self._lessons}

    def pages(self, readmes: Mapping[str, str]) -> Iterator[Page]:
        """Every page of the site but those of lessons, those to print and ``404.html``.

        *readmes* holds the HTML of the text of each project.
        """
        words = self._words
        yield "index.html", self._home()
        yield "phases/index.html", self._phase_index()
        yield "lessons/index.html", self._lesson_index()
        yield "concepts/index.html", self._concepts()
        yield "pathways/index.html", self._cards("pathways", [("", self._pathways)])
        groups = [(words["roles"], self._roles), (words["domains"], self._domains)]
        yield "roles/index.html", self._cards("roles", groups)
        yield "projects/index.html", self._cards("projects", [("", self._projects)])
        yield "search/index.html", self.search()
        for at, phase in enumerate(self._phases):
            before = self._phases[at - 1] if at else None
            after = self._phases[at + 1] if at + 1 < len(self._phases) else None
            yield f"{phase['url']}index.html", self._phase(phase, before, after)
        for pathway in self._pathways:
            yield f"{pathway['url']}index.html", self._pathway(pathway)
        for role in self._roles:
            yield f"{role['url']}index.html", self._role(role)
        for domain in self._domains:
            yield f"{domain['url']}index.html", self._domain(domain)
        for project in self._projects:
            html = self._project(project, readmes.get(project["id"], ""))
            yield f"{project['url']}index.html", html

    def render_print_pages(self, lessons: Mapping[str, str]) -> Iterator[Page]:
        """The pages to print; *lessons* holds the HTML of each lesson on one."""
        for pathway in self._pathways:
            if is_printable(pathway["lessonIds"]):
                yield f"print/{pathway['id']}.html", self._print(pathway, lessons)

    def search(self) -> str:
        """``search/index.html``."""
        words = self._words
        page = self._shell.frame("search/", words["search"], words["search_summary"], "search")
        return self._shell.render("search.html", page=page, root=FLAT)

    def _home(self) -> str:
        course = self._catalog["course"]
        name, _, rest = course["title"].partition(": ")
        lessons = self._lessons.values()
        return self._shell.render(
            "home.html",
            page=self._shell.frame("", course["title"], course["summary"], "home"),
            root=TOP,
            hero=self._hero,
            course=course,
            name=name,
            rest=rest,
            totals=self._catalog["totals"],
            first=next((lesson for lesson in lessons if lesson["status"] == "authored"), None),
            parts=self._by_part(),
            pathways=self._pathways,
            projects=self._projects,
        )

    def _by_part(self) -> list[tuple[Resource, list[Resource]]]:
        return [
            (part, [phase for phase in self._phases if phase["part"] == part["id"]])
            for part in self._catalog["parts"]
        ]

    def _phase_index(self) -> str:
        words = self._words
        page = self._shell.frame("phases/", words["course"], words["course_summary"], "phases")
        return self._shell.render(
            "phases.html",
            page=page,
            root=FLAT,
            parts=self._by_part(),
            lessons=lambda phase: self._shell.rows(phase["lessons"], FLAT),
        )

    def _phase(self, phase: Resource, before: Ref | None, after: Ref | None) -> str:
        shell = self._shell
        trail = [("phases/", self._words["course"])]
        parts = {part["id"]: part for part in self._catalog["parts"]}
        return shell.render(
            "phase.html",
            page=shell.frame(phase["url"], phase["title"], phase["summary"], "phases", trail),
            root=DEEP,
            phase=phase,
            lessons=shell.rows(phase["lessons"], DEEP, phase["number"]),
            part=parts.get(phase["part"]),
            minutes=sum(
                lesson["minutes"] for lesson in phase["lessons"] if lesson["status"] == "authored"
            ),
            equipment=shell.equipment(phase["equipment"]),
            prerequisites=self._names("phase", phase["prerequisites"]),
            projects=shell.items(self._list_refs("project", phase["projectIds"]), DEEP),
            references=shell.references(phase["references"]),
            nearby=shell.nearby(before, after),
        )

    def _lesson_index(self) -> str:
        """Every lesson from A to Z."""
        shell, words = self._shell, self._words
        titled = [(fold(plain(lesson["title"])), lesson) for lesson in self._lessons.values()]
        titled.sort(key=lambda entry: (entry[0], entry[1]["id"]))
        groups = [
            (letter.upper(), f"letter-{number}", shell.items([ref for _, ref in entries], FLAT))
            for number, (letter, entries) in enumerate(groupby(titled, key=_initial), start=1)
        ]
        page = shell.frame("lessons/", words["lessons_az"], words["lessons_summary"])
        return shell.render("lessons.html", page=page, root=FLAT, groups=groups)

    def _concepts(self) -> str:
        """Each concept (anchor: its id) with its lessons."""
        shell, words = self._shell, self._words
        entries = [
            (concept, shell.items(self._list_refs("lesson", concept["lessonIds"]), FLAT))
            for concept in self._catalog["concepts"]
        ]
        page = shell.frame("concepts/", words["concepts"], words["concepts_summary"], "concepts")
        return shell.render("concepts.html", page=page, root=FLAT, concepts=entries)

    def _cards(self, section: str, groups: Sequence[tuple[str, Sequence[Resource]]]) -> str:
        heading, lede = self._words[section], self._words[f"{section}_summary"]
        return self._shell.render(
            "cards.html",
            page=self._shell.frame(f"{section}/", heading, lede, section),
            root=FLAT,
            heading=heading,
            lede=lede,
            groups=groups,
        )

    def _pathway(self, pathway: Resource) -> str:
        shell, capstone = self._shell, pathway.get("capstone")
        projects = self._list_refs("project", [capstone["projectId"]] if capstone else [])
        return shell.render(
            "pathway.html",
            page=self._detail("pathways", pathway),
            root=DEEP,
            pathway=pathway,
            totals=pathway["totals"],
            steps=[
                (step, shell.rows(self._list_refs("lesson", step["lessonIds"]), DEEP))
                for step in pathway["steps"]
            ],
            requires=self._names("pathway", pathway["requires"]),
            roles=self._names("role", pathway["roleIds"]),
            domains=self._names("domain", pathway["domainIds"]),
            capstone=shell.items(projects, DEEP),
            printed=is_printable(pathway["lessonIds"]),
        )

    def _print(self, pathway: Resource, printed: Mapping[str, str]) -> str:
        """All lessons of a pathway on one page."""
        phases = {phase["id"]: phase for phase in self._phases}
        return self._shell.render(
            "print.html",
            root=FLAT,
            pathway=pathway,
            title=plain(pathway["title"]),
            lessons=[
                (lesson, phases[lesson["phaseId"]], Markup(printed[lesson["id"]]))  # noqa: S704  (made by LessonPages)
                for lesson in self._list_refs("lesson", pathway["lessonIds"])
            ],
        )

    def _role(self, role: Resource) -> str:
        words = self._words
        return self._shell.render(
            "role.html",
            page=self._detail("roles", role),
            root=DEEP,
            role=role,
            **self._ways(role),
            lists=[
                (words["responsibilities"], role["responsibilities"]),
                (words["skills"], role["skills"]),
            ],
            checks=[
                (check["question"], self._names("phase", [check["phaseId"]]))
                for check in role["startingChecks"]
            ],
            milestones=[(entry, self._milestone(entry)) for entry in role["milestones"]],
        )

    def _milestone(self, entry: Resource) -> Markup:
        """Links to the phases and the lessons of a milestone."""
        phases = self._list_refs("phase", entry["phaseIds"])
        return self._shell.names([*phases, *self._list_refs("lesson", entry["lessonIds"])], DEEP)

    def _domain(self, domain: Resource) -> str:
        return self._shell.render(
            "domain.html",
            page=self._detail("roles", domain),
            root=DEEP,
            domain=domain,
            **self._ways(domain),
        )

    def _ways(self, entry: Resource) -> dict[str, Markup]:
        """The pathways, roles and domains of a role or a domain, as links."""
        default = entry["defaultPathwayId"]
        others = [name for name in entry["pathwayIds"] if name != default]
        return {
            "default": self._names("pathway", [default]),
            "others": self._names("pathway", others) if others else Markup(""),
            "roles": self._names("role", entry.get("roleIds", ())),
            "domains": self._names("domain", entry.get("domainIds", ())),
        }

    def _project(self, project: Resource, readme: str) -> str:
        shell = self._shell
        required = [entry["id"] for entry in project["requiredLessons"]]
        return shell.render(
            "project.html",
            page=self._detail("projects", project),
            root=DEEP,
            project=project,
            readme=Markup(readme),  # noqa: S704  (no raw HTML passes the Markdown step)
            pathway=self._names("pathway", [project["pathwayId"]]),
            equipment=shell.equipment(project["equipment"]),
            required=self._names("lesson", required),
            stages=[
                (stage, self._names("lesson", stage["lessonIds"])) for stage in project["stages"]
            ],
        )

    def _detail(self, section: str, entry: Resource) -> Frame:
        trail = [(f"{section}/", self._words[section])]
        return self._shell.frame(entry["url"], entry["title"], entry["summary"], section, trail)

    def _list_refs(self, kind: str, names: Iterable[str]) -> list[Ref]:
        """The entries of these names, as links need them."""
        return [self._refs[kind][name] for name in names if name in self._refs[kind]]

    def _names(self, kind: str, names: Iterable[str]) -> Markup:
        """The same as links in one line, of a page two folders deep."""
        return self._shell.names(self._list_refs(kind, names), DEEP)


def _initial(entry: tuple[str, Any]) -> str:
    first = entry[0][:1]
    return first if first.isalpha() else "#"


def not_found_page(shell: Shell) -> str:
    """``404.html``: needs no other file; without a base URL its script finds the home page."""
    style, script = _inline_parts(shell)
    return shell.render(
        "not_found.html",
        base_url=shell.site.base_url or "",
        style=Markup(style),  # noqa: S704  (a file of this package, and colours)
        script=Markup(script),  # noqa: S704  (a file of this package)
    )


def not_found_hashes(shell: Shell) -> tuple[str, str]:
    """Sources for a content policy that allow the style and the script of ``404.html``."""
    style, script = (
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for part in _inline_parts(shell)
    )
    return f"'sha256-{style}'", f"'sha256-{script}'"


def _inline_parts(shell: Shell) -> tuple[str, str]:
    return (
        (TEMPLATES / "not_found.css").read_text(encoding="utf-8")
        + look.style(shell.site.course).decode(),
        (TEMPLATES / "not_found.js").read_text(encoding="utf-8"),
    )
