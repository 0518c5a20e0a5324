"""The Python blocks of a lesson as one script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from course.publish.companions.body import Code, sections
from course.publish.inline import Labels
from course.read.code import PYTHON

_FUTURE: Final = re.compile(r"^from __future__ import [^\n(]+\n+", re.MULTILINE)
_RULE: Final = 78


def script(lesson: Mapping[str, Any], words: Labels) -> str:
    """Python code in order, headings and expected output as comments; empty without any code.

    ``from __future__`` lines move to the top, where Python wants them.
    """
    body: list[str] = []
    future: set[str] = set()
    found = False
    for section in sections(lesson):
        if section.heading:
            body.append(f"# --- {section.heading} ".ljust(_RULE, "-"))
        for part in section.parts:
            if not isinstance(part, Code) or not (part.output or part.language in PYTHON):
                continue
            if part.output:
                body.append(_comment(f"{words['expected_output']}\n{part.source}"))
                continue
            found = True
            source = part.source
            if "__future__" in source:
                future.update(line.strip() for line in _FUTURE.findall(source))
                source = _FUTURE.sub("", source)
            body.append(source.strip("\n"))
    if not found:
        return ""
    head = [_comment(f"{lesson['title']}\n{lesson['summary']}"), *sorted(future)]
    return "\n\n".join(head + body) + "\n"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())
