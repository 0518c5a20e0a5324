"""What a rule demands and why, for a terminal."""

from __future__ import annotations

from course import rules
from course.check.report.view import family
from course.diagnostics import nearest


class UnknownRule(LookupError):
    """There is no rule with that code; the text says so and offers the nearest."""


def explain(code: str) -> str:
    """The rule *code*, in capitals or not, with a bad and a good example; no final line end.

    Raises UnknownRule for a code that the rule book does not hold.
    """
    rule = rules.book().get(code.upper())
    if rule is None:
        near = nearest(code.upper(), rules.book())
        raise UnknownRule(f'there is no rule "{code}"' + (f"; {near}" if near else ""))
    return (
        f"{rule.code} ({rule.severity}): {rule.title}\n\n{rule.text}\n\n"
        f"Wrong:\n\n{_indented(rule.bad)}\n\nRight:\n\n{_indented(rule.good)}"
    )


def _indented(example: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in example.split("\n"))


def rule_list() -> str:
    """A line for every rule: code, severity, title; a gap between families, no final line end."""
    lines: list[str] = []
    last = None
    for rule in rules.book().values():
        if last not in (None, family(rule.code)):
            lines.append("")
        last = family(rule.code)
        lines.append(f"{rule.code:<7} {rule.severity:<8} {rule.title}")
    return "\n".join(lines)
