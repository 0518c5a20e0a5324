"""Code blocks: their language, the file that fills them, the output that follows them."""

from __future__ import annotations

from typing import Final

from course.diagnostics import Problem, Span, nearest, short
from course.read.code import PYTHON, is_known, python_fault
from course.read.markdown.types import CodeBlock, Outline

TAUGHT: Final = ("python", "json", "sql", "bash", "console", "yaml", "text")
EXPECTED: Final = "expected"


def is_closed(out: Outline, start: int, end: int, last: int) -> bool:
    """Whether a closing fence ends the block from *start* to *end*, whose code ends at *last*.

    *last* is *start* for a block without code. A block that nobody closes takes in the rest of
    the text.
    """
    opening = out.bytes.find(b"\n", start, end) + 1 or end
    return out.bytes[start : start + 3] in out.bytes[max(opening, last) : end]


def add(out: Outline, block: CodeBlock, info: str | None, inside: tuple[int, int]) -> None:
    """Check *block* and keep it; *info* is what follows the fence (None: there is none).

    *inside* is the byte range of the lines between the fences.
    """
    language, _, rest = (info or "").partition(" ")
    _check_language(out, block, language, fenced=info is not None)
    options = rest.split()
    if EXPECTED in options:
        _add_output(out, block)
        return
    block.entry["id"] = f"code-{len(out.body.code) + 1}"
    block.entry["language"] = language
    for option in options:
        _read_option(out, block, option, inside)
    out.body.code.append(block.entry)
    out.codes.append(block)
    if language in PYTHON and out.source.teaching:
        _check_python(out, block, inside[0])


def _check_python(out: Outline, block: CodeBlock, start: int) -> None:
    """The code of a lesson goes into its script and notebook, so that it has to compile."""
    fault = python_fault(block.entry["source"])
    if fault is None:
        return
    line, column, file = fault.line, fault.column, out.source.file
    if included := block.entry.get("file"):
        file = f"{out.source.folder}/{included}"
    else:
        place = out.span(start, start)
        line, column = line + place.line - 1, column + place.column - 1
    out.keep(
        Problem(
            "MD013",
            file,
            f"this is no Python: {fault.message}",
            span=Span(line, column, line, column + 1),
            hint="correct it, or name another language after the fence, such as text",
        )
    )


def _check_language(out: Outline, block: CodeBlock, language: str, *, fenced: bool) -> None:
    if not language:
        out.report(
            "MD003",
            "the code has no language" if fenced else "an indented code block",
            block.start,
            block.end,
            hint='write ```python, ```json, ```text … after the fence, "text" for plain text',
        )
    elif not is_known(language):
        out.report(
            "MD003",
            f'"{short(language)}" is not a known language',
            block.start,
            block.end,
            hint=nearest(language, TAUGHT) or 'use "text" for plain text',
        )


def _add_output(out: Outline, block: CodeBlock) -> None:
    """What the code block before prints."""
    if not out.codes or out.codes[-1].output:
        out.report(
            "MD007",
            "an expected output without code before it",
            block.start,
            block.end,
            hint="put it right after the code block that prints it",
        )
        return
    out.codes[-1].entry[EXPECTED] = block.entry["source"]
    block.entry["language"] = "text"
    block.output = True
    out.codes.append(block)


def _read_option(out: Outline, block: CodeBlock, option: str, inside: tuple[int, int]) -> None:
    """One word after the language of a fence."""
    name, equals, value = option.partition("=")
    if name != "file" or not equals:
        out.report(
            "MD009",
            f'"{short(option)}" means nothing after a fence',
            block.start,
            block.end,
            expected="file=code/NAME or expected",
            hint=nearest(name, ["file", EXPECTED]) or "remove it",
        )
        return
    if ".." in value.split("/") or value.startswith("/"):
        out.report(
            "MD004",
            "an included file cannot lie outside the folder code",
            block.start,
            block.end,
            expected="file=code/NAME",
            got=short(value),
            hint="copy what the lesson needs into its folder code",
        )
        return
    code = out.source.code.get(value.removeprefix("code/"))
    if code is None or not value.startswith("code/"):
        known = [f"code/{one}" for one in out.source.code]
        out.report(
            "MD004",
            f'the included file "{short(value)}" does not exist',
            block.start,
            block.end,
            expected="a file in the code folder of this lesson",
            hint=nearest(value, known) or "create it beside lesson.md",
        )
        return
    if block.entry["source"].strip():
        message = "a block that includes a file must be empty"
        out.report("MD005", message, *inside, hint="delete the lines inside the fence")
    block.entry["file"], block.entry["source"] = value, code
