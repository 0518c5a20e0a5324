"""The folders of shipped files and of the programs' own data.

In a checkout both are folders of the project. An installation has the shipped files inside the
package and keeps data in the user's data folder of the system.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = Path(__file__).resolve().parents[1]
"""The folder that packages are imported from; in a checkout, its root."""
_INSTALLED: Final = Path(__file__).with_name("share")
CHECKOUT: Final = not _INSTALLED.is_dir()
SHARE: Final = PACKAGES if CHECKOUT else _INSTALLED
"""The shipped files: ``content`` and ``data``. Never written to in an installation."""
MODELS: Final = SHARE / "data" / "models"


def user_data_dir() -> Path:
    """Return the folder for this user's data on this system."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "paddock"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "paddock"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "paddock"


def choose_folder(in_checkout: str, installed: str) -> Path:
    """Return a folder of the checkout, or of the user's data in an installation."""
    return PACKAGES / in_checkout if CHECKOUT else user_data_dir() / installed


def name_program(name: str) -> str:
    """Return the command of a server: ``python -m runtime.llm`` or ``paddock-llm``."""
    return f"python -m runtime.{name}" if CHECKOUT else f"paddock-{name}"


BRIDGE_DATA: Final = choose_folder("data", "data")
SITE: Final = choose_folder("site", "site")


def copy_bridge_data() -> None:
    """Copy the shipped cars, circuits and signals to the folder where users add their own.

    Existing files stay unchanged.
    """
    if CHECKOUT:
        return
    source = SHARE / "data"
    for file in source.rglob("*"):
        target = BRIDGE_DATA / file.relative_to(source)
        if not file.is_file() or MODELS in file.parents or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        shutil.copyfile(file, part)
        part.replace(target)
