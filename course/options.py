"""What a build is asked to do, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from course.diagnostics import Diagnostic

CACHE: Final = ".course-cache"
OUT: Final = "site"


@dataclass(frozen=True, slots=True)
class Options:
    """Where a build reads and writes, and what its outputs depend on besides the sources.

    ``cache`` is the cache folder (None: read and write no cache); ``jobs`` the number of
    processes that read and render lessons (0: one, or two when many lessons changed);
    ``updated`` replaces the date of course.yaml (``YYYY-MM-DD``); ``verify`` reads the files of
    the output before they are kept, instead of trusting their size.
    """

    root: Path
    out: Path
    base_url: str | None = None
    file_urls: bool = False
    force: bool = False
    jobs: int = 0
    cache: Path | None = None
    updated: str | None = None
    verify: bool = False


@dataclass(slots=True)
class Report:
    """What a check or a build found and did; ``digest`` names the whole output."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    lessons: int = 0
    authored: int = 0
    sources: list[str] = field(default_factory=list)
    files: int = 0
    changed: int = 0
    seconds: float = 0.0
    digest: str = ""
    written: bool = False
    notes: list[str] = field(default_factory=list)

    def count(self, severity: str) -> int:
        """How many diagnostics are an ``error`` (these stop a build), ``warning`` or ``info``."""
        return sum(one.severity == severity for one in self.diagnostics)

    @property
    def errors(self) -> int:
        """How many diagnostics stop a build."""
        return self.count("error")

    @property
    def planned(self) -> int:
        """Lessons that are announced and not yet written."""
        return self.lessons - self.authored

    def counts(self) -> str:
        """``2 errors, 1 warning``; the empty string when nothing was found."""
        numbers = {severity: self.count(severity) for severity in ("error", "warning", "info")}
        return ", ".join(plural(number, word) for word, number in numbers.items() if number)

    def summary(self) -> str:
        """The last line of a build."""
        return (
            f"{self.lessons:,} lessons ({self.authored:,} authored, {self.planned:,} planned), "
            f"{self.files:,} files, {self.changed:,} changed, {self.seconds:.2f} s, "
            f"tree {self.digest[:12]}"
        )


def plural(number: int, word: str) -> str:
    """``1 error``, ``1,200 errors``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
