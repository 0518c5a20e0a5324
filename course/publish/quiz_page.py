"""Practice questions as HTML: 60 values a page, so they are joined here and not by a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from course.publish.inline import attribute, frequent, html, paragraphs

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


class QuizPage:
    """Writes sections of questions; *word* gives an interface word, escaped."""

    def __init__(self, word: Callable[[str], str]) -> None:
        self._words = {key: word(key) for key in _WORDS}
        w = self._words
        self._script_words = "|".join(
            [w["check_answer"], w["correct"], w["not_yet"], w["choose_first"]]
        )
        self._answer = f'<details class="answer"><summary>{w["show_answer"]}</summary>'

    def section(
        self, anchor: str, heading: str, label: str, questions: Sequence[Mapping[str, Any]]
    ) -> str:
        """A section with all *questions*, numbered from 1."""
        fieldsets = [self._question(number, one) for number, one in enumerate(questions, 1)]
        return (
            f'<section class="end quiz" id="{anchor}" data-words="{self._script_words}">\n'
            f"<h2>{attribute(heading)}</h2>\n"
            f'<p class="formative">{attribute(label)}</p>\n'
            f"{''.join(fieldsets)}</section>"
        )

    def _question(self, number: int, question: Mapping[str, Any]) -> str:
        during = f", {self._words['stage_during']}" if question["stage"] == "during" else ""
        legend = (
            f'<legend><span class="count">{self._words["question"]} {number}{during}</span> '
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
            f'<label class="number-field">{self._words["your_number"]} {_NUMBER} {unit}</label>\n'
            f"{self._answer}\n"
            f"<p><strong>{value} {unit}</strong>{margin}</p>\n"
        )

    def _choice(self, question: Mapping[str, Any], legend: str) -> str:
        words, answers = self._words, question["answer"]
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
