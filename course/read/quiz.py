"""Quiz questions: the rules that a schema cannot say, and the published form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from course.diagnostics import Problem

QUESTION_DEFAULTS: Final = {"stage": "after", "kind": "single"}
LETTERS: Final = "abcdef"
LONGEST_SHARE: Final = 0.5
POSITION_SHARE: Final = 0.4
ENOUGH: Final = 4


def check(
    questions: Sequence[tuple[int, dict[str, Any]]], objectives: int, file: str
) -> Iterator[Problem]:
    """Every broken rule of schema-valid *questions* of a lesson with *objectives* objectives.

    Each comes with its number in the file.
    """
    ids: set[str] = set()
    prompts: set[str] = set()
    for number, question in questions:
        path = ("questions", number)
        if question["id"] in ids:
            yield Problem(
                "QUZ001", file, f'the question id "{question["id"]}" appears twice', (*path, "id")
            )
        if question["prompt"] in prompts:
            yield Problem("QUZ002", file, "two questions have the same prompt", (*path, "prompt"))
        ids.add(question["id"])
        prompts.add(question["prompt"])
        if question.get("objective", 0) > objectives:
            place, number_used = (*path, "objective"), str(question["objective"])
            yield _no_objective(Problem("QUZ008", file, "", place, got=number_used), objectives)
        if question.get("kind") == "numeric":
            yield from _check_numeric(question, path, file)
        else:
            yield from _check_choice(question, path, file)
    yield from _guessable([question for _, question in questions], file)


def fit_objective_errors(broken: list[Problem], objectives: int) -> list[Problem]:
    """The schema problems *broken*; a limit of the objective becomes that of the lesson."""
    return [
        _no_objective(problem, objectives)
        if problem.code == "SCH007" and problem.path and problem.path[-1] == "objective"
        else problem
        for problem in broken
    ]


def _no_objective(problem: Problem, objectives: int) -> Problem:
    message, expected = "the lesson has no such objective", f"1 to {objectives}"
    return replace(problem, code="QUZ008", message=message, expected=expected, hint=None)


def _check_numeric(
    question: dict[str, Any], path: tuple[str | int, ...], file: str
) -> Iterator[Problem]:
    if "value" not in question:
        yield Problem("QUZ006", file, "a numeric question needs a value", (*path, "value"))
    if "options" in question:
        yield Problem(
            "QUZ006",
            file,
            "a numeric question has no options",
            (*path, "options"),
            on_key=True,
            hint="remove the options, or set kind: single",
        )


def _check_choice(
    question: dict[str, Any], path: tuple[str | int, ...], file: str
) -> Iterator[Problem]:
    for key in ("value", "tolerance", "unit"):
        if key in question:
            yield Problem(
                "QUZ007",
                file,
                f'"{key}" belongs to numeric questions',
                (*path, key),
                on_key=True,
                hint='set "kind: numeric", or remove it',
            )
    options = question.get("options")
    if options is None:
        yield Problem(
            "QUZ007",
            file,
            "the question has no options",
            (*path, "options"),
            expected="2 to 6 options",
        )
        return
    texts = [option["text"] for option in options]
    if len(set(texts)) < len(texts):
        for number, text in enumerate(texts):
            if text in texts[:number]:
                yield Problem(
                    "QUZ003",
                    file,
                    "two options have the same text",
                    (*path, "options", number, "text"),
                )
    marked = [number for number, option in enumerate(options) if option.get("correct")]
    correct = len(marked)
    if question.get("kind", "single") == "single" and correct != 1:
        yield Problem(
            "QUZ004",
            file,
            f"expected exactly one correct option, got {correct}",
            (*path, "options", marked[1], "correct") if correct else (*path, "options"),
            expected="exactly one correct option",
            got=str(correct),
            hint='set "kind: multiple", or remove "correct" from one option'
            if correct
            else 'add "correct: true" to one option',
        )
    elif correct == 0:
        yield Problem(
            "QUZ005",
            file,
            "no option is correct",
            (*path, "options"),
            expected="at least one correct option",
            got="0",
        )


def _guessable(questions: list[dict[str, Any]], file: str) -> Iterator[Problem]:
    single = []
    for question in questions:
        if question.get("kind", "single") == "single" and "options" in question:
            marks = [option.get("correct", False) for option in question["options"]]
            if marks.count(True) == 1:
                single.append((question, marks))
    longest = sum([_longest_is_correct(question["options"], marks) for question, marks in single])
    if len(single) >= ENOUGH and longest > LONGEST_SHARE * len(single):
        yield Problem(
            "QUZ009",
            file,
            f"the correct option is the longest in {longest} of {len(single)} questions",
            ("questions",),
        )
    fixed = [marks.index(True) for question, marks in single if question.get("shuffle") is False]
    for position in sorted(set(fixed)):
        if len(fixed) >= ENOUGH and fixed.count(position) > POSITION_SHARE * len(fixed):
            yield Problem(
                "QUZ010",
                file,
                f"option {position + 1} is correct in {fixed.count(position)} of {len(fixed)} "
                "unshuffled questions",
                ("questions",),
            )


def _longest_is_correct(options: list[dict[str, Any]], marks: list[bool]) -> bool:
    """Whether the option that *marks* names is longer than every other."""
    lengths = [len(option["text"]) for option in options]
    most = max(lengths)
    return lengths.count(most) == 1 and marks[lengths.index(most)]


def publish_questions(questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The questions as the lesson resource carries them: shuffled, with letters and answers."""
    return [_publish(question) for question in questions]


def _publish(question: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {**QUESTION_DEFAULTS, **question}
    entry.pop("shuffle", None)
    choices = question.get("options", [])
    order = list(range(len(choices)))
    if question.get("shuffle", True):
        seed = question["id"].encode()
        ranks = [blake2b(b"%s/%d" % (seed, n), digest_size=8).digest() for n in order]
        order.sort(key=ranks.__getitem__)
    options, answer = [], []
    for letter, index in zip(LETTERS, order, strict=False):
        option = choices[index]
        shown = {"id": letter, "text": option["text"]}
        if "why" in option:
            shown["why"] = option["why"]
        options.append(shown)
        if option.get("correct"):
            answer.append(letter)
    entry["options"], entry["answer"] = options, answer
    return entry
