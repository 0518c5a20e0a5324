"""Imports python-can without asammdf, which it would import too: saves 1.5 s at each start."""

import importlib
import sys
from typing import Final

MF4: Final = "asammdf"

if "can" not in sys.modules and MF4 not in sys.modules:
    # An entry of None makes an import fail as if the package were not there.
    sys.modules[MF4] = None  # type: ignore[assignment]
    try:
        importlib.import_module("can")
    finally:
        del sys.modules[MF4]
