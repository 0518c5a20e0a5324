"""Tells whether a document is still the one that was stored."""

import hashlib
import json


def metadata_text(metadata: object) -> str | None:
    """The JSON text under which metadata is stored; None for none.

    Raises ValueError for a number that JSON does not know.
    """
    if metadata is None:
        return None
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def digest_of(text: str, metadata: str | None, model: str) -> str:
    """SHA-256, lower-case hex, of a document: its text, the JSON text of its metadata, its model.

    Each part enters with its length before it, so that no two documents share their bytes.
    """
    found = hashlib.sha256()
    for part in (text, metadata or "", model):
        data = part.encode()
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()
