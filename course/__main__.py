"""The door to the tool where no script is at hand: `python -m course`."""

import sys

from course.cli import main

if __name__ == "__main__":
    sys.exit(main())
