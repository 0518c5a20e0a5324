"""HTML pages from the API resources; every page is a function of the data it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup

from course.publish import not_found, reprint
from course.publish.inline import plain, prose
from course.publish.lesson_page import LessonPage
from course.publish.not_found import hashes as not_found_hashes
from course.publish.search import fold
from course.publish.shell import DEEP, FLAT, TOP, Around, Frame, Ref, Resource, Shell, SiteInfo

_TEMPLATES: Final = (
    "home.html",
    "phases.html",
    "phase.html",
    "lessons.html",
    "concepts.html",
    "cards.html",
    "pathway.html",
    "role.html",
    "domain.html",
    "search.html",
)
__all__ = ["Around", "Pages", "SiteInfo", "not_found_hashes"]


class Pages:
    """Renders pages; one instance a build, because it compiles the templates once."""

    def __init__(self, site: SiteInfo) -> None:
        self.site = site
        self._shell = Shell(site)
        self._lesson = LessonPage(self._shell)
        self._words = site.words
        self.base_url = site.base_url
        self.index = self._shell.index

    def home(
        self, catalog: Resource, pathways: Sequence[Resource], projects: Sequence[Resource]
    ) -> str:
        """``index.html``."""
        course = catalog["course"]
        name, _, rest = course["title"].partition(": ")
        lessons = (lesson for phase in catalog["phases"] for lesson in phase["lessons"])
        return self._shell.render(
            "home.html",
            page=self._shell.frame("", course["title"], course["summary"], "home"),
            root=TOP,
            course=course,
            name=name,
            rest=rest,
            totals=catalog["totals"],
            first=next((lesson for lesson in lessons if lesson["status"] == "authored"), None),
            parts=_by_part(catalog),
            pathways=pathways,
            projects=projects,
        )

    def phases(self, catalog: Resource) -> str:
        """``phases/index.html``: parts and their phases."""
        page = self._shell.frame(
            "phases/", self._words["course"], self._words["course_summary"], "phases"
        )
        return self._shell.render("phases.html", page=page, root=FLAT, parts=_by_part(catalog))

    def phase(self, phase: Resource, around: Around) -> str:
        """``phases/<id>/index.html`` of a catalog phase."""
        shell = self._shell
        trail = [("phases/", self._words["course"])]
        return shell.render(
            "phase.html",
            page=shell.frame(phase["url"], phase["title"], phase["summary"], "phases", trail),
            root=DEEP,
            phase=phase,
            lessons=shell.rows(phase["lessons"], DEEP, phase["number"]),
            part=around.part,
            minutes=sum(
                lesson["minutes"] for lesson in phase["lessons"] if lesson["status"] == "authored"
            ),
            equipment=shell.equipment(phase["equipment"]),
            prerequisites=shell.names(around.prerequisites, DEEP),
            projects=shell.items(around.projects, DEEP),
            references=shell.references(phase["references"]),
            nearby=shell.nearby(around),
        )

    def lessons(self, catalog: Resource) -> str:
        """``lessons/index.html``: every lesson from A to Z."""
        shell = self._shell
        found = [
            (fold(plain(lesson["title"])), lesson)
            for phase in catalog["phases"]
            for lesson in phase["lessons"]
        ]
        found.sort(key=lambda entry: (entry[0], entry[1]["id"]))
        groups = [
            (letter.upper(), f"letter-{number}", shell.items([ref for _, ref in entries], FLAT))
            for number, (letter, entries) in enumerate(groupby(found, key=_initial), start=1)
        ]
        words = self._words
        page = shell.frame("lessons/", words["lessons_az"], words["lessons_summary"])
        return shell.render("lessons.html", page=page, root=FLAT, groups=groups)

    def lesson(self, lesson: Resource, around: Around, source_path: str) -> str:
        """``lessons/<id>/index.html``; *source_path* counts from the repository root."""
        return self._lesson.page(lesson, around, source_path)

    def concepts(self, catalog: Resource) -> str:
        """``concepts/index.html``: each concept (anchor: its id) with its lessons."""
        shell, words = self._shell, self._words
        lessons = {
            lesson["id"]: lesson for phase in catalog["phases"] for lesson in phase["lessons"]
        }
        entries = [
            (concept, shell.items([lessons[found] for found in concept["lessonIds"]], FLAT))
            for concept in catalog["concepts"]
        ]
        page = shell.frame("concepts/", words["concepts"], words["concepts_summary"], "concepts")
        return shell.render("concepts.html", page=page, root=FLAT, concepts=entries)

    def pathways(self, pathways: Sequence[Resource]) -> str:
        """``pathways/index.html``."""
        return self._cards("pathways", [("", pathways)])

    def pathway(
        self, pathway: Resource, lessons: Sequence[Resource], around: Around, printed: bool = True
    ) -> str:
        """``pathways/<id>/index.html``; *lessons* are the catalog lessons of its steps.

        *printed* says whether ``print/<id>.html`` exists.
        """
        shell = self._shell
        by_id = {lesson["id"]: lesson for lesson in lessons}
        steps = [
            (step, shell.rows([by_id[found] for found in step["lessonIds"]], DEEP))
            for step in pathway["steps"]
        ]
        return shell.render(
            "pathway.html",
            page=self._detail("pathways", pathway),
            root=DEEP,
            pathway=pathway,
            totals=pathway["totals"],
            steps=steps,
            requires=shell.names(around.prerequisites, DEEP),
            roles=shell.names(around.roles, DEEP),
            domains=shell.names(around.domains, DEEP),
            capstone=shell.items(around.projects, DEEP),
            printed=printed,
            nearby=shell.nearby(around),
        )

    def roles(self, roles: Sequence[Resource], domains: Sequence[Resource]) -> str:
        """``roles/index.html``: roles, then domains."""
        words = self._words
        return self._cards("roles", [(words["roles"], roles), (words["domains"], domains)])

    def role(self, role: Resource, around: Around) -> str:
        """``roles/<id>/index.html``; ``around.phases`` and ``lessons`` cover its milestones."""
        shell, words = self._shell, self._words
        places = {ref["id"]: ref for ref in (*around.phases, *around.lessons)}
        return shell.render(
            "role.html",
            page=self._detail("roles", role),
            root=DEEP,
            role=role,
            **self._ways(role, around),
            lists=[
                (words["responsibilities"], role["responsibilities"]),
                (words["skills"], role["skills"]),
            ],
            checks=[
                (check["question"], shell.link(places[check["phaseId"]], DEEP))
                for check in role["startingChecks"]
            ],
            milestones=[
                (entry, shell.names([places[i] for i in _targets(entry)], DEEP))
                for entry in role["milestones"]
            ],
            nearby=shell.nearby(around),
        )

    def domain(self, domain: Resource, around: Around) -> str:
        """``domains/<id>/index.html``."""
        return self._shell.render(
            "domain.html",
            page=self._detail("roles", domain),
            root=DEEP,
            domain=domain,
            **self._ways(domain, around),
            nearby=self._shell.nearby(around),
        )

    def _ways(self, entry: Resource, around: Around) -> dict[str, Markup]:
        """The pathways, roles and domains of a role or a domain, as links."""
        shell, default = self._shell, entry["defaultPathwayId"]
        others = [ref for ref in around.pathways if ref["id"] != default]
        return {
            "default": shell.names([r for r in around.pathways if r["id"] == default], DEEP),
            "others": shell.names(others, DEEP) if others else Markup(""),
            "roles": shell.names(around.roles, DEEP),
            "domains": shell.names(around.domains, DEEP),
        }

    def projects(self, projects: Sequence[Resource]) -> str:
        """``projects/index.html``."""
        return self._cards("projects", [("", projects)])

    def project(self, project: Resource, readme_html: str, around: Around) -> str:
        """``projects/<id>/index.html``; *readme_html* is trusted output of the Markdown step.

        ``around.lessons`` covers the required lessons and those of the stages.
        """
        shell = self._shell
        lessons = {ref["id"]: ref for ref in around.lessons}
        required = [lessons[entry["id"]] for entry in project["requiredLessons"]]
        return shell.render(
            "project.html",
            page=self._detail("projects", project),
            root=DEEP,
            project=project,
            readme=Markup(readme_html),  # noqa: S704  (no raw HTML passes the Markdown step)
            pathway=shell.names(around.pathways, DEEP),
            equipment=shell.equipment(project["equipment"]),
            required=shell.names(required, DEEP),
            stages=[
                (stage, shell.names([lessons[i] for i in stage["lessonIds"]], DEEP))
                for stage in project["stages"]
            ],
            nearby=shell.nearby(around),
        )

    def search(self) -> str:
        """``search/index.html``."""
        words = self._words
        page = self._shell.frame("search/", words["search"], words["search_summary"], "search")
        return self._shell.render("search.html", page=page, root=FLAT)

    def not_found(self) -> str:
        """``404.html``."""
        return not_found.page(self._shell)

    def alias(self, old_id: str, lesson: Ref) -> str:
        """``lessons/<old_id>/index.html``: sends readers on to the lesson's present page."""
        address = lesson["url"] + self._shell.index
        return self._shell.render(
            "alias.html",
            old_id=old_id,
            root=DEEP,
            title=plain(lesson["title"]),
            url=lesson["url"],
            canonical=(self._shell.site.base_url or DEEP) + address,
        )

    def prepare(self) -> None:
        """Compile the templates of every page but a lesson's ahead of the first one."""
        for name in _TEMPLATES:
            self._shell.template(name)

    def prepare_lessons(self) -> None:
        """Compile the templates of a lesson's page."""
        self._lesson.prepare()

    def printed(self, lesson: Resource) -> Markup:
        """The body of a lesson (resource) as a page to print shows it."""
        if "content" not in lesson:
            return prose(f"{self._words['planned']}. {self._words['planned_notice']}")
        body = self._lesson.body(lesson)
        return Markup(reprint.move(body, lesson["id"], lesson["url"], FLAT))  # noqa: S704

    def print_pathway(self, pathway: Resource, lessons: Sequence[tuple[Resource, Markup]]) -> str:
        """``print/<pathway>.html``: all lessons of a pathway, each with its :meth:`printed`.

        A lesson is an entry of the catalog with its ``phase``, or its resource.
        """
        return self._shell.render(
            "print.html",
            root=FLAT,
            pathway=pathway,
            title=plain(pathway["title"]),
            lessons=lessons,
        )

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

    def _detail(self, section: str, entry: Resource) -> Frame:
        trail = [(f"{section}/", self._words[section])]
        return self._shell.frame(entry["url"], entry["title"], entry["summary"], section, trail)


def _by_part(catalog: Resource) -> list[tuple[Resource, list[Resource]]]:
    return [
        (part, [phase for phase in catalog["phases"] if phase["part"] == part["id"]])
        for part in catalog["parts"]
    ]


def _targets(milestone: Mapping[str, Any]) -> list[str]:
    return [*milestone["phaseIds"], *milestone["lessonIds"]]


def _initial(entry: tuple[str, Any]) -> str:
    first = entry[0][:1]
    return first if first.isalpha() else "#"
