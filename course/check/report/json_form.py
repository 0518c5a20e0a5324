"""The report for programs: JSON as `diagnostics.v1.schema.json` describes it."""

from __future__ import annotations

import orjson

from course.check.report.view import Findings, sendable


def render(findings: Findings) -> str:
    """Every problem, whatever the limit, and the counts."""
    summary = findings.summary
    document = {
        "version": 1,
        "summary": {
            "errors": summary.errors,
            "warnings": summary.warnings,
            "infos": summary.infos,
            "files": len(summary.files),
        },
        "diagnostics": [sendable(one).as_json() for one in findings.found],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"
