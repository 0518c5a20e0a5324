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


def digest_of(text: str, metadata: str | None, model: str, heading: str = "") -> str:
    """SHA-256, lower-case hex, of a document: its text, the JSON text of its metadata, its model.

    A *heading* is part of it where the vectors hold one; so a document whose vectors are from
    before there were headings is another one. Each part enters with its length before it, so that
    no two documents share their bytes.
    """
    found = hashlib.sha256()
    for part in (text, metadata or "", model, *([heading] if heading else [])):
        data = part.encode()
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()
