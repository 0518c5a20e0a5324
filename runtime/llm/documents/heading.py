"""What is embedded in front of each chunk of a document: the title of a lesson."""

from collections.abc import Mapping
from typing import Final

LESSON: Final = "lesson"
"""The ``kind`` in the metadata of a document that is a passage of a course."""


def heading_of(metadata: object) -> str:
    """The title of a lesson's passage, on one line; empty for any other document.

    A passage seldom repeats the words of its title, and people search by titles.
    """
    if not isinstance(metadata, Mapping) or metadata.get("kind") != LESSON:
        return ""
    title = metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""
