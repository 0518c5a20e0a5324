"""A project's files in one zip archive whose bytes depend on their names and contents only."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from typing import Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3


def bundle(files: Mapping[str, bytes]) -> bytes:
    """The archive of *files* (POSIX path to content): sorted, stored, dated 1980, mode 0644."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files, key=str.encode):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return out.getvalue()
