"""The commands of an installation: `paddock` runs everything, or one program by its name."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from runtime import VERSION
from runtime.places import CHECKOUT
from runtime.web.commands import INTERRUPTED

PROGRAMS: Final[Mapping[str, str]] = {
    "bridge": "runtime.bridge.__main__",
    "course": "course.cli",
    "llm": "runtime.llm.__main__",
}
EVERYTHING: Final = "runtime.demo"
BROUGHT: Final = {"bridge": "duckdb", "llm": "onnxruntime"}
"""A package that only the extra of each server installs."""
HELP: Final = """\
usage: paddock [flags]          course and both servers side by side; Ctrl-C ends them
       paddock bridge [flags]   the telemetry bridge, as paddock-bridge
       paddock llm [flags]      the language-model server, as paddock-llm
       paddock course [flags]   the course tool, as paddock-course
       paddock --version

"""
NOT_INSTALLED: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program named on the command line; return the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in PROGRAMS:
        name, *words = words
        sys.argv[0] = "build.py" if CHECKOUT else f"paddock-{name}"
        return run_program(PROGRAMS[name], words, "" if name == "course" else name)
    if words == ["--version"]:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    if {"-h", "--help"} & set(words):
        sys.stdout.write(HELP)
    elif missing := [name for name, package in BROUGHT.items() if find_spec(package) is None]:
        alone = next((name for name in BROUGHT if name not in missing), "course")
        sys.stderr.write(
            f"paddock: {' and '.join(missing)} not installed; pip install 'paddock[all]' brings"
            f" what runs side by side; paddock {alone} runs alone\n"
        )
        return NOT_INSTALLED
    return run_program(EVERYTHING, words, "all")


def run_bridge() -> int:
    """The command ``paddock-bridge``."""
    return run_program(PROGRAMS["bridge"], sys.argv[1:], "bridge")


def run_llm() -> int:
    """The command ``paddock-llm``."""
    return run_program(PROGRAMS["llm"], sys.argv[1:], "llm")


def run_program(module: str, words: Sequence[str], extra: str) -> int:
    """Call ``main`` of a module; if a package is missing, print which *extra* installs it."""
    try:
        code: int = importlib.import_module(module).main(words)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "course", "paddock", "runtime"):
            raise
        wanted = f"'paddock[{extra}]'" if extra else "paddock"
        sys.stderr.write(
            f"paddock: the package {package} is missing; pip install {wanted} brings it\n"
        )
        return NOT_INSTALLED
    except KeyboardInterrupt:  # during the start; running programs handle it themselves
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main())
