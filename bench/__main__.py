"""Run the benchmarks one after the other and print one table: `python -m bench [NAME…]`."""

import argparse
import sys
import time
from importlib import import_module
from typing import Final

from bench.common import show, show_head

NAMES: Final = (
    "course",
    "ingest",
    "analytics",
    "storage",
    "listeners",
    "lake",
    "vbo",
    "canbus",
    "llm",
    "documents",
    "pages",
)


def main() -> int:
    """Run the named benchmarks, or all; return how many failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    names = parser.parse_args().names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    began, failed = time.monotonic(), 0
    show_head()
    for name in names:
        try:
            show(name, import_module(f"bench.{name}").figures())
        except Exception as error:  # noqa: BLE001 - the other benchmarks go on
            print(f"{name} failed: {error!r}", file=sys.stderr)
            failed += 1
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
