"""How large lessons, media and pages may be when `course.yaml` does not say so, in KiB."""

from __future__ import annotations

from typing import Final

LESSON_KIB: Final = 64
MEDIA_KIB: Final = 512
PAGE_KIB: Final = 256
