"""Install Paddock from the folder of this file, without a network.

    python3 install.py [FOLDER]

FOLDER becomes a virtual environment with the commands; the default is ~/paddock. The built course
and the models go to where the programs of this user keep their data.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ASK = "from runtime.places import user_data_dir; print(user_data_dir())"


def main() -> None:
    """Create the environment, install the wheels, copy site and models."""
    if sys.version_info < (3, 11):
        sys.exit("install: needs Python 3.11 or newer")
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path.home() / "paddock").absolute()
    venv.create(target, with_pip=True)
    commands = target / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(commands / "python")
    pip = [python, "-m", "pip", "install", "--no-index", "--find-links", str(HERE / "wheels")]
    if subprocess.run([*pip, "--quiet", "paddock[all,prebuilt]"], check=False).returncode:
        sys.exit(f"install: the wheels are for the system and the Python of {HERE.name}")
    answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    data = Path(answer.stdout.strip())
    for name in ("site", "models"):
        if (HERE / name).is_dir():
            shutil.copytree(HERE / name, data / name, dirs_exist_ok=True)
    print(f"The commands are in {commands}: paddock, paddock-bridge, paddock-llm, paddock-course.")
    print(f"Their data is in {data}.")


if __name__ == "__main__":
    main()
