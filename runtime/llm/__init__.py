"""The on-device language-model server."""

from typing import Final

VERSION: Final = "0.1.0"
"""As in pyproject.toml."""
