"""Runs the measurements one after the other: `python -m bench [NAME…] [--quick]`."""

import subprocess
import sys
from typing import Final

from bench.common import ROOT, arguments

NAMES: Final = (
    "course",
    "ingest",
    "store",
    "listeners",
    "analytics",
    "lake",
    "vbo",
    "canbus",
    "llm",
    "vectors",
    "documents",
    "coach",
    "pages",
)


def main() -> int:
    """Run what is named, else everything; the exit status counts those that failed."""
    parser = arguments("", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))

    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    flags = ["--quick"] if options.quick else []
    failed = 0
    for name in options.names or NAMES:
        print(f"## {name}\n", flush=True)
        command = [sys.executable, "-m", f"bench.{name}", *flags]
        failed += subprocess.run(command, check=False, cwd=ROOT).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
