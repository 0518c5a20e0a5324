"""The page of one lesson: facts, body, questions and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from course.publish.inline import attribute, html, paragraphs
from course.publish.quiz_page import QuizPage
from course.publish.shell import DEEP, Around, Resource, Shell, size


class LessonPage:
    """Renders lessons; the page that a build makes a thousand times, so it stays cheap."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._words = shell.words
        self._quiz = QuizPage(shell.word)

    def prepare(self) -> None:
        """Compile the templates ahead of the first page."""
        for name in ("lesson.html", "header.html", "footer.html"):
            self._shell.template(name)

    def page(self, lesson: Resource, around: Around, source_path: str) -> str:
        """``lessons/<id>/index.html``; *source_path* counts from the repository root."""
        shell, words = self._shell, self._words
        authored = lesson["status"] == "authored"
        phase = lesson["phase"]
        title = lesson["title"] if authored else f"{words['planned']}: {lesson['title']}"
        trail = [("phases/", words["course"]), (f"phases/{phase['id']}/", phase["title"])]
        frame = shell.frame(lesson["url"], title, lesson["summary"], "phases", trail)
        values: dict[str, str] = {
            "authored": "1" if authored else "",
            "number": attribute(f"{phase['number']}.{lesson['position']}"),
            "title": html(lesson["title"]),
            "summary": html(lesson["summary"]),
            "minutes": str(lesson.get("minutes", "")),
            "level": shell.word(f"level_{lesson['level']}") if "level" in lesson else "",
            "equipment": attribute(shell.equipment(lesson["equipment"])),
            "prerequisites": shell.names(around.prerequisites, DEEP),
            "concepts": shell.concepts(around.concepts, DEEP),
            "toc": "",
            "objectives": _points(lesson["objectives"]),
            "evidence": _points(lesson.get("evidence", ())),
            "references": shell.references(lesson.get("references", ())),
            "downloads": "",
            "part_of": shell.items([*around.pathways, *around.projects], DEEP),
            "unlocks": shell.items(around.unlocks, DEEP),
            "nearby": shell.nearby(around),
            "edit": attribute(shell.site.edit_base + source_path) if shell.site.edit_base else "",
        }
        if authored:
            values |= self._material(lesson)
        return shell.pour("lesson.html", frame, values)

    def _material(self, lesson: Resource) -> dict[str, str]:
        """What only an authored lesson shows."""
        quiz = lesson["quiz"]
        first = [question for question in quiz["questions"] if question["stage"] == "before"]
        rest = [question for question in quiz["questions"] if question["stage"] != "before"]
        return {
            "toc": self._toc(lesson["content"]),
            "review": self._shell.word(f"review_{lesson.get('review', 'none')}"),
            "prompt": html(lesson["check"]["prompt"]),
            "answer": paragraphs(lesson["check"]["answer"]),
            "before": self._questions("page-before", "before_reading", first),
            "body": self.body(lesson),
            "after": self._questions("page-quiz", "practice", rest),
            "downloads": self._downloads(lesson["artifacts"]),
            "hash": lesson["contentHash"].partition(":")[2][:8],
        }

    def _toc(self, content: Resource) -> str:
        """List items for the headings of the first two levels, with the kinds of their blocks."""
        words = self._shell.site.kinds
        kinds = {
            block["id"]: words[block["kind"]]
            for block in content["blocks"]
            if block["kind"] != "text"
        }
        items: list[str] = []
        for entry in content["toc"]:
            if entry["level"] <= 3:
                anchor, title = entry["id"], entry["title"]
                kind = kinds.get(anchor, title)
                lead = f"<span>{attribute(kind)}:</span> " if kind != title else ""
                deeper = ' class="deeper"' if entry["level"] > 2 else ""
                link = f'<a href="#{attribute(anchor)}">{lead}{html(title)}</a>'
                items.append(f"<li{deeper}>{link}</li>")
        return "\n".join(items)

    def body(self, lesson: Resource) -> str:
        """The teaching blocks, each as the resource carries it: no raw HTML passed that step."""
        blocks = [
            f'<div class="block {block["kind"]}">{block["html"]}</div>'
            for block in lesson["content"]["blocks"]
        ]
        return "\n".join(blocks)

    def _questions(self, anchor: str, heading: str, questions: Sequence[Resource]) -> str:
        if not questions:
            return ""
        words = self._words
        return self._quiz.section(anchor, words[heading], words["quiz_label"], questions)

    def _downloads(self, artifacts: Iterable[Resource]) -> str:
        items = [
            f'<li><a href="{DEEP}{attribute(file["url"])}" download>'
            f"{self._shell.word('artifact_' + file['kind'])}</a> ({size(file['bytes'])})</li>"
            for file in artifacts
        ]
        return "\n".join(items)


def _points(texts: Iterable[str]) -> str:
    """List items, one for each text; empty for none."""
    return "\n".join([f"<li>{html(text)}</li>" for text in texts])
