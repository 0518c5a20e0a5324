"""Writes the sentences about driving that the coach may repeat: `-m training.coach.teachings`."""

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from runtime.bridge.coach.warm.evidence import END
from runtime.bridge.coach.warm.teachings import FILE, key_of
from training.coach.corpus import data, grammar

ASPECTS: Final = ("what", "why", "tip", "drill", "wrong")
ABOUT_A_PASS: Final = frozenset(
    {
        "time_won",
        "clean_exit",
        "downhill_braking",
        "uphill_braking",
    }
)
"""Findings whose advice says what was done."""
ABOUT_ITSELF: Final = frozenset({"who", "human", "privacy", "reliable", "grumpy"})
"""Small talk in which the shipped model says what it is; another one is something else."""
MOST: Final = 64
"""Wordings of one text."""
_CLAIMS: Final = re.compile(
    r"^(?:You (?!can|need|should|hear|want|will|choose|look)|Your |More went|More comes"
    r"|The exit is)"
)
"""Beginnings of sentences that would be about the driver."""


def texts() -> Iterator[str]:
    """The templates of what is true whoever drives."""
    for topic in data.topics():
        for aspect in ASPECTS:
            yield from topic.answers.get(aspect, ())
    for talk in (*data.small_talk(), *data.off_topic()):
        if talk.id not in ABOUT_ITSELF:
            yield from talk.reply
    for finding in data.table("telemetry")["finding"]:
        if finding["id"] not in ABOUT_A_PASS:
            yield from finding.get("advice", ())


def keys() -> list[str]:
    """Every sentence as it is compared, sorted."""
    found: set[str] = set()
    for template in texts():
        if grammar.slots(template) - {"c"}:
            continue
        for wording in islice(grammar.every(template), MOST):
            for corner in ("Turn 1", "the corner"):
                found.update(_keys(grammar.fill(wording, {"c": corner})))
    return sorted(found)


def _keys(text: str) -> set[str]:
    parts = END.split(text)
    return {key_of(one) for one in parts if len(one.split()) > 2 and not _CLAIMS.match(one)}


def main(path: Path = FILE) -> int:
    """Write the file."""
    lines = keys()
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} sentences\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
