"""The command line of the course: `build`, `check`, `serve` and the author's helpers."""

from __future__ import annotations

import argparse
import gc
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from course.build import CACHE, OUT, Options, Report, build
from course.program import program
from course.publish.cache import remove_cache
from course.publish.tree import Refusal, check_places

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  (it has no other)

OK, PROBLEMS, BAD_CALL = 0, 1, 2
_BASE_URL: Final = re.compile(
    r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::([0-9]{1,5}))?(/[A-Za-z0-9._~%/-]*)?"
)
_EPOCH: Final = re.compile(r"[0-9]{1,11}")
_FORMATS: Final = ("text", "json", "github", "sarif", "junit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, that of the terminal when *arguments* are None.

    Returns the exit status: 0 clean, 1 problems, 2 a bad call.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows only ASCII shows \\u…
            stream.reconfigure(errors="backslashreplace")
    try:
        words = _with_command(list(sys.argv[1:] if arguments is None else arguments))
        options = _parser().parse_args(words)
        command: Callable[[argparse.Namespace], int] = options.run
        status = command(options)
        sys.stdout.flush()
        return status
    except Refusal as refusal:
        print(f"error {refusal.code}: {refusal}\n  hint: {refusal.hint}", file=sys.stderr)
        return BAD_CALL
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"error: {error.strerror or error}{where}", file=sys.stderr)
        return BAD_CALL
    except KeyboardInterrupt:
        return 130


def _with_command(arguments: list[str]) -> list[str]:
    """No command builds; `--check` alone checks."""
    if arguments and (arguments[0][:1] != "-" or arguments[0] in ("-h", "--help", "--version")):
        return arguments
    if "--check" in arguments:
        return ["check", *(word for word in arguments if word != "--check")]
    return ["build", *arguments]


class _Version(argparse.Action):
    """Prints the version, for which the metadata of the package is read."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(version("paddock"))
        except PackageNotFoundError:
            print("not installed: this is a checkout")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program(),
        description="Builds the course in content/ into a static site. Without a command: build.",
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("--root", type=Path, default=Path(), help="folder that holds content/")
    place.add_argument("--cache", type=Path, help="cache folder (default: ROOT/.course-cache)")
    place.add_argument("--no-cache", action="store_true", help="read and write no cache")
    emit = argparse.ArgumentParser(add_help=False, parents=[place])
    emit.add_argument("--base-url", type=_base_url, help="absolute address, for canonical links")
    emit.add_argument("--file-urls", action="store_true", help="link index.html in full")
    emit.add_argument("--jobs", type=_jobs, default=0, help="processes (default: by size)")
    _add_build(commands, emit)
    _add_check(commands, emit)
    _add_serve(commands, emit)
    _add_helpers(commands, place)
    return parser


def _out(parser: argparse.ArgumentParser) -> None:
    text = "output folder (default: ROOT/site); the next one is prepared beside it, in .NAME.next"
    parser.add_argument("--out", type=Path, help=text)


def _add_build(commands: Commands, emit: argparse.ArgumentParser) -> None:
    parser = commands.add_parser("build", parents=[emit], help="check, then write the site")
    _out(parser)
    parser.add_argument(
        "--clean", action="store_true", help="forget the cache and write every file anew"
    )
    parser.add_argument("--force", action="store_true", help="keep unknown files in the output")
    parser.add_argument("--quiet", action="store_true", help="print problems only")
    parser.set_defaults(run=_build)


def _add_check(commands: Commands, emit: argparse.ArgumentParser) -> None:
    parser = commands.add_parser("check", parents=[emit], help="find every problem; write nothing")
    parser.add_argument("--format", choices=_FORMATS, default="text")
    parser.add_argument("--report", type=Path, help="write the report into this file")
    parser.add_argument("--strict", action="store_true", help="warnings fail too")
    parser.add_argument("--all", action="store_true", help="print every problem with its source")
    parser.add_argument("--only", nargs="+", metavar="ID", help="problems of these ids only")
    parser.add_argument(
        "--external-links", action="store_true", help="check the https links, over the network"
    )
    parser.add_argument(
        "--run", action="store_true", dest="programs", help="run the programs and tests"
    )
    parser.add_argument("--accept-ids", action="store_true", help="add new ids to ids.lock")
    parser.add_argument(
        "--reproducible", action="store_true", help="build three or four ways and compare"
    )
    parser.add_argument("--deep", action="store_true", help="parse every page as a browser would")
    parser.set_defaults(run=_check)


def _add_serve(commands: Commands, emit: argparse.ArgumentParser) -> None:
    parser = commands.add_parser("serve", parents=[emit], help="serve, rebuild and reload")
    _out(parser)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--prefix", default="", help="serve below this path, such as /course")
    parser.add_argument("--open", action="store_true", help="open a browser")
    parser.add_argument("--no-watch", action="store_true", help="build once, then only serve")
    parser.set_defaults(run=_serve)


def _add_helpers(commands: Commands, place: argparse.ArgumentParser) -> None:
    init = commands.add_parser("init", help="start a small course that builds at once")
    init.add_argument("folder", type=Path, help="a new or empty folder")
    init.add_argument("--title", help="title of the course (default: from the name of the folder)")
    init.add_argument("--lang", default="en", help="its language, such as de (default: en)")
    init.set_defaults(run=_init)
    new = commands.add_parser("new", parents=[place], help="write a skeleton")
    kinds = ("lesson", "phase", "pathway", "role", "domain", "project", "ui")
    new.add_argument("kind", choices=kinds)
    names = "lesson: PHASE ID; ui: nothing; else: ID"
    new.add_argument("names", nargs="*", metavar="NAME", help=names)
    new.add_argument(
        "--planned", action="store_true", help="planned: only its brief, no material yet"
    )
    new.set_defaults(run=_new)
    explain = commands.add_parser("explain", help="explain a rule, with examples")
    explain.add_argument("code", nargs="?", help="such as QUZ004; without: all rules")
    explain.set_defaults(run=_explain)
    fmt = commands.add_parser("fmt", parents=[place], help="format the YAML sources")
    fmt.add_argument("--check", action="store_true", help="list files that would change")
    fmt.set_defaults(run=_fmt)
    stats = commands.add_parser(
        "stats", parents=[place], help="count lessons, minutes and concepts"
    )
    stats.add_argument("--format", choices=("text", "json"), default="text")
    stats.set_defaults(run=_stats)
    deploy = commands.add_parser(
        "deploy-list", parents=[place], help="list what changed since a build"
    )
    _out(deploy)
    deploy.add_argument("--since", type=Path, required=True, help="an older build-manifest.json")
    deploy.set_defaults(run=_deploy_list)


def _base_url(text: str) -> str:
    match = _BASE_URL.fullmatch(text)
    steps = (match[2] or "").strip("/").split("/") if match else []
    odd = len(steps) > 1 and "" in steps
    if not match or odd or {".", ".."} & set(steps) or int(match[1] or 1) not in range(1, 65536):
        raise argparse.ArgumentTypeError(
            "expected a plain address such as https://example.org/course/ "
            "(no query, no credentials; other alphabets percent-encoded)"
        )
    return text.rstrip("/") + "/"


def _jobs(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError("expected a number from 1 to 64")
    return int(text)


def _options(arguments: argparse.Namespace) -> Options:
    root = _root(arguments)
    cache = None if arguments.no_cache else (arguments.cache or root / CACHE)
    out = getattr(arguments, "out", None) or root / OUT
    return Options(
        root=root,
        out=Path(os.path.abspath(out)),  # noqa: PTH100  (a link is refused, not followed)
        base_url=getattr(arguments, "base_url", None),
        file_urls=getattr(arguments, "file_urls", False),
        force=getattr(arguments, "force", False),
        jobs=getattr(arguments, "jobs", 0),
        cache=cache,
        updated=_epoch_date(),
        verify=getattr(arguments, "clean", False),
    )


def _root(arguments: argparse.Namespace) -> Path:
    """The folder that holds ``content/``."""
    root: Path = arguments.root
    if not (root / "content").is_dir():
        raise Refusal(
            "CFG002",
            f"there is no folder content in {root.absolute()}",
            "run the command where content/ lies, or give --root",
        )
    return root


def _epoch_date() -> str | None:
    """The date of SOURCE_DATE_EPOCH, when it is set."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return None
    try:
        if _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(int(text), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    raise Refusal(
        "CFG009", "SOURCE_DATE_EPOCH is not a number of seconds", "unset it or correct it"
    )


def _build(arguments: argparse.Namespace) -> int:
    os.umask(0o022)  # the files are for others to read, whoever builds
    # To look for plugins, pydantic would read the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    gc.disable()  # a build keeps nearly all it makes: collections cost 4 % and find nothing
    options = _options(arguments)
    check_places(options.root, options.out, options.cache)
    if arguments.clean and options.cache is not None:
        remove_cache(options.cache)
    report = build(options)
    gc.freeze()  # nor would the one at the end of the program
    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)
    if report.diagnostics:
        print(_text(options.root, report), file=sys.stderr if report.written else sys.stdout)
    if not report.errors and not arguments.quiet:
        print(report.summary())
    return PROBLEMS if report.errors else OK


def _check(arguments: argparse.Namespace) -> int:
    from course.checking import run_check

    return run_check(_options(arguments), arguments)


def _serve(arguments: argparse.Namespace) -> int:
    from course.serve import serve

    os.umask(0o022)
    options = _options(arguments)
    check_places(options.root, options.out, options.cache)
    return serve(
        options,
        arguments.host,
        arguments.port,
        arguments.prefix,
        open_browser=arguments.open,
        watch=not arguments.no_watch,
    )


def _new(arguments: argparse.Namespace) -> int:
    from course.scaffold import new

    return new(_root(arguments), arguments.kind, arguments.names, planned=arguments.planned)


def _init(arguments: argparse.Namespace) -> int:
    from course.scaffold import init

    return init(arguments.folder, arguments.title, arguments.lang)


def _explain(arguments: argparse.Namespace) -> int:
    from course.reports import UnknownRule, explain, rule_list

    try:
        print(rule_list() if arguments.code is None else explain(arguments.code))
    except UnknownRule as error:
        print(error.args[0], file=sys.stderr)
        return BAD_CALL
    return OK


def _fmt(arguments: argparse.Namespace) -> int:
    from course.fmt import fmt

    return fmt(_root(arguments), check=arguments.check)


def _stats(arguments: argparse.Namespace) -> int:
    from course.stats import stats

    return stats(_options(arguments), form=arguments.format)


def _deploy_list(arguments: argparse.Namespace) -> int:
    from course import deploylist

    return deploylist.run(_options(arguments).out, arguments.since)


def _text(root: Path, report: Report) -> str:
    from course.checking import as_text

    return as_text(root, report)
