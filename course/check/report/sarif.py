"""The report for code scanning: SARIF 2.1.0 with fingerprints that survive moved lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

import orjson

from course import rules
from course.check.report.view import Findings, Source, sendable, sentences
from course.diagnostics import Diagnostic
from course.rules import Rule

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_ROOT: Final = "%SRCROOT%"


def render(findings: Findings) -> str:
    """One run with every problem and one rule for each code that occurs."""
    found = findings.found
    codes = sorted({one.code for one in found})
    index = {code: number for number, code in enumerate(codes)}
    driver = {"name": "Paddock course check", "rules": [_rule(rules.book()[c]) for c in codes]}
    results = [
        _result(sendable(one), index[one.code], mark)
        for one, mark in zip(found, _fingerprints(found, findings.source), strict=True)
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    bad, good = _code(rule.bad), _code(rule.good)
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {
            "text": f"{rule.text}\n\nWrong:\n{rule.bad}\n\nRight:\n{rule.good}",
            "markdown": f"{rule.text}\n\nWrong:\n\n{bad}\n\nRight:\n\n{good}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _code(example: str) -> str:
    """*example* as an indented block: no fence inside it can end it."""
    return "\n".join(f"    {line}".rstrip() for line in example.split("\n"))


def _result(one: Diagnostic, index: int, fingerprint: str) -> dict[str, Any]:
    return {
        "ruleId": one.code,
        "ruleIndex": index,
        "level": _LEVELS[one.severity],
        "message": {"text": "\n".join(sentences(one))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(one.file), "uriBaseId": _ROOT},
                    "region": {
                        "startLine": one.line,
                        "startColumn": one.column,
                        "endLine": one.end_line,
                        "endColumn": one.end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def _fingerprints(found: Sequence[Diagnostic], source: Source) -> list[str]:
    """One for each of *found*: code, pointer and line without its spaces, counted in its file.

    The name of the field that holds it is the only one that GitHub reads.
    """
    seen: Counter[tuple[str, str]] = Counter()
    marks: list[str] = []
    for one in found:
        line = " ".join("".join((source(one.file) or [])[one.line - 1 : one.line]).split())
        key = "\0".join((one.code, one.pointer or "", line))
        digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        seen[one.file, digest] += 1
        marks.append(f"{digest}:{seen[one.file, digest]}")
    return marks
