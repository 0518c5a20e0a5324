"""Names of signals that nobody announced: as they were given, but for what cannot be asked for."""

import unicodedata
from typing import Final

LONGEST_NAME: Final = 128


def clean_name(name: str) -> str:
    """A name that can be stored and asked for: no control characters, no commas, not too long."""
    kept = "".join(c if c.isprintable() and c not in ",?&#" else "_" for c in name.strip())
    return unicodedata.normalize("NFC", kept)[:LONGEST_NAME] or "unnamed"
