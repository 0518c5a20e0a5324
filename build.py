#!/usr/bin/env python3
"""The door to the course: `python build.py`, and `python build.py --help` for the rest."""

import sys

if sys.version_info < (3, 11):
    sys.exit("build.py needs Python 3.11 or newer")

try:
    from course.cli import main
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] == "course":
        raise
    sys.exit(f'"{error.name}" is missing: run "make setup", then .venv/bin/python build.py')

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
