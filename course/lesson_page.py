"""The page of one lesson: facts, body, questions and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from course.inline import attribute
from course.shell import DEEP, Around, Resource, Shell, size


class LessonPage:
    """Renders lessons; the page that a build makes a thousand times, so it stays cheap."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._words = shell.words

    def page(self, lesson: Resource, around: Around, source_path: str) -> str:
        """``lessons/<id>/index.html``; *source_path* counts from the repository root."""
        shell, words = self._shell, self._words
        authored = lesson["status"] == "authored"
        phase = lesson["phase"]
        title = lesson["title"] if authored else f"{words['planned']}: {lesson['title']}"
        trail = [("phases/", words["course"]), (f"phases/{phase['id']}/", phase["title"])]
        values: dict[str, Any] = {
            "page": shell.frame(lesson["url"], title, lesson["summary"], "phases", trail),
            "root": DEEP,
            "lesson": lesson,
            "authored": authored,
            "number": f"{phase['number']}.{lesson['position']}",
            "level": words[f"level_{lesson['level']}"] if "level" in lesson else "",
            "equipment": shell.equipment(lesson["equipment"]),
            "prerequisites": shell.names(around.prerequisites, DEEP),
            "concepts": shell.concepts(around.concepts, DEEP),
            "toc": (),
            "kinds": {},
            "references": shell.references(lesson.get("references", ())),
            "downloads": "",
            "part_of": shell.items([*around.pathways, *around.projects], DEEP),
            "unlocks": shell.items(around.unlocks, DEEP),
            "nearby": shell.nearby(around),
            "edit": shell.site.edit_base + source_path if shell.site.edit_base else "",
        }
        if authored:
            values |= self._material(lesson)
        return shell.render("lesson.html", **values)

    def _material(self, lesson: Resource) -> dict[str, Any]:
        """What only an authored lesson shows."""
        words, quiz = self._words, lesson["quiz"]
        first = [question for question in quiz["questions"] if question["stage"] == "before"]
        rest = [question for question in quiz["questions"] if question["stage"] != "before"]
        return {
            "toc": [entry for entry in lesson["content"]["toc"] if entry["level"] <= 3],
            "kinds": {
                block["id"]: self._shell.site.kinds[block["kind"]]
                for block in lesson["content"]["blocks"]
                if block["kind"] != "text"
            },
            "review": words[f"review_{lesson.get('review', 'none')}"],
            "before": self._questions("page-before", "before_reading", quiz["label"], first),
            "body": self.body(lesson),
            "after": self._questions("page-quiz", "practice", quiz["label"], rest),
            "downloads": self._downloads(lesson["artifacts"]),
            "hash": lesson["contentHash"].partition(":")[2][:8],
        }

    def body(self, lesson: Resource) -> Markup:
        """The teaching blocks, each as the resource carries it."""
        blocks = [
            f'<div class="block {block["kind"]}">{block["html"]}</div>'
            for block in lesson["content"]["blocks"]
        ]
        return Markup("\n".join(blocks))  # noqa: S704  (no raw HTML passes the Markdown step)

    def _questions(
        self, anchor: str, heading: str, label: str, questions: Sequence[Resource]
    ) -> Markup:
        if not questions:
            return Markup("")
        return self._shell.render(
            "quiz.html",
            anchor=anchor,
            heading=self._words[heading],
            label=label,
            questions=list(enumerate(questions, start=1)),
        )

    def _downloads(self, artifacts: Iterable[Resource]) -> Markup:
        items = [
            f'<li><a href="{DEEP}{attribute(file["url"])}" download>'
            f"{attribute(self._words['artifact_' + file['kind']])}</a> ({size(file['bytes'])})</li>"
            for file in artifacts
        ]
        return Markup("\n".join(items))  # noqa: S704  (escaped above)
