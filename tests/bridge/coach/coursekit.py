"""A built course of one lesson, which teaches every coaching concept but one."""

import json
from pathlib import Path
from typing import Final

from runtime.bridge.coach.lessons import CATALOG, PASSAGES
from runtime.bridge.cues.concepts import CONCEPTS

UNTAUGHT: Final = "late_apex"
QUOTED: Final = "Open the throttle where the steering opens: the whole straight is faster."
COURSE_CATALOG: Final = json.dumps(
    {
        "concepts": [
            {"id": one.id, "lessonIds": ["gone", "exit-speed"] if one.id != UNTAUGHT else []}
            for one in CONCEPTS
        ],
        "phases": [
            {
                "id": "p",
                "lessons": [
                    {"id": "exit-speed", "title": "Out of corners", "url": "lessons/exits/"}
                ],
            }
        ],
    }
)
COURSE_PASSAGES: Final = "\n".join(
    json.dumps(
        {
            "lessonId": "exit-speed",
            "url": f"lessons/exits/{anchor}",
            "title": "Out of corners: Idea: the straight (exit_speed)",
            "text": text,
        }
    )
    for anchor, text in {
        "": "The throttle opens earlier in this lesson than in any other one, and you see why.",
        "#idea": f"Speed, Place.\nThe exit, where the car opens its throttle.\n\n{QUOTED}\n\nNow.",
        "#exercise-find-it": "Open the throttle earlier in each of these corners, and compare.",
        "#recap": "A late apex is worth a car length at the end of the straight, and no more.",
    }.items()
)


def write_course(folder: Path) -> Path:
    """The course as its build leaves it in *folder*."""
    for name, text in ((CATALOG, COURSE_CATALOG), (PASSAGES, COURSE_PASSAGES)):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder
