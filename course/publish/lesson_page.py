"""The pages of one lesson: its own, that of an old address, and its part of a page to print."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from course.publish.inline import attribute, frequent, html, paragraphs, plain, prose
from course.publish.shell import DEEP, FLAT, Ref, Resource, Shell, size

_WORDS: Final = (
    "check_answer",
    "choose_all",
    "choose_first",
    "correct",
    "not_yet",
    "question",
    "right",
    "show_answer",
    "stage_during",
    "wrong",
    "your_number",
)
_NUMBER: Final = '<input type="number" step="any" inputmode="decimal" autocomplete="off">'


_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>")
_ADDRESS: Final = re.compile(r'\b(href|src)="([^"]*)"')
_ID: Final = re.compile(r'\b(id|for|aria-labelledby|aria-describedby)="([^"]*)"')
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class LessonPages:
    """Renders lessons from their resources."""

    def __init__(self, shell: Shell) -> None:
        self.site = shell.site
        self.index = shell.index
        self._shell = shell
        self._words = shell.words
        self._safe = w = {key: shell.word(key) for key in _WORDS}
        self._script_words = "|".join(
            [w["check_answer"], w["correct"], w["not_yet"], w["choose_first"]]
        )
        self._answer = f'<details class="answer"><summary>{w["show_answer"]}</summary>'

    def page(self, lesson: Resource, related: Mapping[str, Any], source_path: str) -> str:
        """``lessons/<id>/index.html``; *source_path* counts from the repository root.

        *related* is what the course around the lesson says about it: ``previous``, ``next``,
        ``prerequisites``, ``unlocks``, ``concepts``, ``pathways``, ``projects``.
        """
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
            "prerequisites": shell.names(related["prerequisites"], DEEP),
            "concepts": shell.concepts(related["concepts"], DEEP),
            "toc": "",
            "objectives": _points(lesson["objectives"]),
            "evidence": _points(lesson.get("evidence", ())),
            "references": shell.references(lesson.get("references", ())),
            "downloads": "",
            "part_of": shell.items([*related["pathways"], *related["projects"]], DEEP),
            "unlocks": shell.items(related["unlocks"], DEEP),
            "nearby": shell.nearby(*map(_with_url, (related["previous"], related["next"]))),
            "edit": attribute(shell.site.edit_base + source_path) if shell.site.edit_base else "",
        }
        if authored:
            values |= self._material(lesson)
        safe = {name: Markup(value) for name, value in values.items()}  # noqa: S704  (escaped above)
        return shell.render("lesson.html", page=frame, root=DEEP, **safe)

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
        """A section with all *questions*, numbered from 1."""
        if not questions:
            return ""
        fieldsets = [self._question(number, one) for number, one in enumerate(questions, 1)]
        return (
            f'<section class="end quiz" id="{anchor}" data-words="{self._script_words}">\n'
            f"<h2>{attribute(self._words[heading])}</h2>\n"
            f'<p class="formative">{attribute(self._words["quiz_label"])}</p>\n'
            f"{''.join(fieldsets)}</section>"
        )

    def _question(self, number: int, question: Mapping[str, Any]) -> str:
        during = f", {self._safe['stage_during']}" if question["stage"] == "during" else ""
        legend = (
            f'<legend><span class="count">{self._safe["question"]} {number}{during}</span> '
            f"{html(question['prompt'])}</legend>"
        )
        asked = self._numeric if question["kind"] == "numeric" else self._choice
        reasons = paragraphs(question["explanation"])
        return f"{asked(question, legend)}{reasons}\n</details>\n</fieldset>\n"

    def _numeric(self, question: Mapping[str, Any], legend: str) -> str:
        value, tolerance = question["value"], question.get("tolerance", 0)
        unit = html(question["unit"]) if "unit" in question else ""
        margin = f" (± {tolerance})" if tolerance else ""
        return (
            f'<fieldset class="question" data-value="{value}" data-tolerance="{tolerance}">\n'
            f"{legend}\n"
            f'<label class="number-field">{self._safe["your_number"]} {_NUMBER} {unit}</label>\n'
            f"{self._answer}\n"
            f"<p><strong>{value} {unit}</strong>{margin}</p>\n"
        )

    def _choice(self, question: Mapping[str, Any], legend: str) -> str:
        words, answers = self._safe, question["answer"]
        single = question["kind"] == "single"
        hint = "" if single else f'<p class="hint">{words["choose_all"]}</p>\n'
        opening = (
            f'<label class="option"><input type="{"radio" if single else "checkbox"}" '
            f'name="{attribute(question["id"])}" value="'
        )
        labels: list[str] = []
        verdicts: list[str] = []
        for option in question["options"]:
            text = html(option["text"])
            letter = frequent(option["id"])
            labels.append(f'{opening}{letter}" autocomplete="off"> <span>{text}</span></label>\n')
            why = f' <span class="why">{html(option["why"])}</span>' if "why" in option else ""
            if option["id"] in answers:
                verdict = f' class="right"><strong>{words["right"]}:</strong>'
            else:
                verdict = f"><strong>{words['wrong']}:</strong>"
            verdicts.append(f"<li{verdict} {text}{why}</li>\n")
        return (
            f'<fieldset class="question" data-answer="{frequent(" ".join(answers))}">\n'
            f"{legend}\n{hint}{''.join(labels)}{self._answer}\n"
            f'<ul class="verdicts">\n{"".join(verdicts)}</ul>\n'
        )

    def _downloads(self, artifacts: Iterable[Resource]) -> str:
        items = [
            f'<li><a href="{DEEP}{attribute(file["url"])}" download>'
            f"{self._shell.word('artifact_' + file['kind'])}</a> ({size(file['bytes'])})</li>"
            for file in artifacts
        ]
        return "\n".join(items)

    def alias(self, old_id: str, lesson: Ref) -> str:
        """``lessons/<old_id>/index.html``: sends readers on to the lesson's present page."""
        address = lesson["url"] + self._shell.index
        return self._shell.render(
            "alias.html",
            old_id=old_id,
            root=DEEP,
            title=plain(lesson["title"]),
            url=lesson["url"],
            canonical=(self.site.base_url or DEEP) + address,
        )

    def printed(self, lesson: Resource) -> str:
        """The body of a lesson as a page to print shows it."""
        if "content" not in lesson:
            return prose(f"{self._words['planned']}. {self._words['planned_notice']}")
        return move_body(self.body(lesson), lesson["id"], lesson["url"], FLAT)


def _with_url(ref: Ref | None) -> Ref | None:
    return {**ref, "url": f"lessons/{ref['id']}/"} if ref else None


def _points(texts: Iterable[str]) -> str:
    """List items, one for each text; empty for none."""
    return "\n".join([f"<li>{html(text)}</li>" for text in texts])


def move_body(html: str, owner: str, folder: str, root: str) -> str:
    """*html* of a page in *folder* as part of a page whose site root is *root*.

    Ids and links to them get the prefix *owner*, relative addresses are rewritten, headings go
    down one level and folded solutions open.
    """

    def identify(found: re.Match[str]) -> str:
        ids = " ".join(f"{owner}--{name}" for name in found[2].split())
        return f'{found[1]}="{ids}"'

    def readdress(found: re.Match[str]) -> str:
        address = found[2]
        if address.startswith("#"):
            return f'{found[1]}="#{owner}--{address[1:]}"'
        if _SCHEME.match(address):
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, address))
        slash = "/" if address.endswith("/") else ""
        return f'{found[1]}="{root}{path}{slash}"'

    def retag(found: re.Match[str]) -> str:
        close, name, attributes = found[1], found[2], found[3]
        if len(name) == 2 and name[0] == "h" and "1" <= name[1] <= "5":
            name = f"h{int(name[1]) + 1}"
        if name == "details" and not close and " open" not in attributes:
            attributes += " open"
        attributes = _ID.sub(identify, _ADDRESS.sub(readdress, attributes))
        return f"<{close}{name}{attributes}>"

    return _TAG.sub(retag, html)
