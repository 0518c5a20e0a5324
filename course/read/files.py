"""Content files by kind: walks the source folders and reads them without trusting them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from course.diagnostics import Problem, Span, nearest, shorten, span_at

TEXT_LIMIT: Final = 1024 * 1024
LESSON_KIB: Final = 64
MEDIA_KIB: Final = 512
DEVICE_NAMES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))]
)
_USUAL: Final = frozenset({"lesson.md", "quiz.yaml", "phase.yaml"})
_PORTABLE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}\Z")
_ONE_FILE: Final = 3  # content/roles/10-role-id.yaml
_DIGITS: Final = frozenset("0123456789")
_NUMBERED: Final = re.compile(r"([0-9]{2,4})-(.+)\Z")
_MERGE: Final = re.compile(r"^(?:<{7}|>{7})(?: .*)?$", re.MULTILINE)
_MIDDLE: Final = re.compile(r"^={7}$", re.MULTILINE)
# Without a shape: controls, line separators, and what turns the direction of reading.
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\u2028-\u202e\u2066-\u2069]"
)
_PLAIN: Final = bytes([0x09, 0x0A, *range(0x20, 0x7F)])  # without them most texts are empty
_UNFINISHED_WORDS: Final = ("TODO", "TBD", "FIXME")
_UNFINISHED: Final = re.compile(rf"\b(?:{'|'.join(_UNFINISHED_WORDS)})\b")
_TRANSLATION: Final = re.compile(r"(?:lesson|quiz)\.([a-z]{2,3}(?:-[A-Za-z0-9]+)*)\.(?:md|yaml)\Z")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\Z")
CODE_SUFFIXES: Final = (".py", ".json", ".sql")
DATA_SUFFIXES: Final = (".csv",)
MEDIA_SUFFIXES: Final = (".svg", ".png", ".webp", ".jpg", ".jpeg", ".avif", ".mp4", ".webm")


@dataclass(slots=True)
class Entry:
    """One regular file below the content folder."""

    name: str
    file: str
    path: str


@dataclass(slots=True)
class Folder:
    """A folder with its files and sub-folders, each sorted by name.

    ``refused`` names what was passed over with a problem, so that it is not also reported missing.
    """

    name: str
    file: str
    path: str
    files: list[Entry] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def get(self, name: str) -> Entry | None:
        """The file called *name*, or None."""
        return next((entry for entry in self.files if entry.name == name), None)

    def folder(self, name: str) -> Folder:
        """Return the sub-folder called *name*, or an empty one."""
        absent = Folder(name, f"{self.file}/{name}", "")
        return next((entry for entry in self.folders if entry.name == name), absent)

    def walk(self) -> Iterator[Entry]:
        """Every file below, depth first, in a fixed order."""
        yield from self.files
        for folder in self.folders:
            yield from folder.walk()

    def names(self) -> Iterator[str]:
        """Every file below, and what was refused there, as a path from the root."""
        yield from (entry.file for entry in self.files)
        yield from (f"{self.file}/{name}" for name in self.refused)
        for folder in self.folders:
            yield from folder.names()


def split_number(name: str) -> tuple[str, str] | None:
    """``10-brake-trace`` as (``10``, ``brake-trace``), or None without a number."""
    match = _NUMBERED.match(name) if name[:1] in _DIGITS else None
    return (match[1], match[2]) if match else None


def folder_id(file: str) -> str:
    """The id that the folder of *file* bears, or the file where each has a file only."""
    parts = file.split("/")
    stem = parts[-1].removesuffix(".yaml") if len(parts) == _ONE_FILE else parts[-2]
    number = split_number(stem)
    return number[1] if number else stem


def sort_key(name: str) -> tuple[int, str]:
    """The order of files and folders: by number, so that 100 comes after 20, then by name."""
    number = split_number(name)
    return (int(number[0]) if number else 0, name)


def scan(path: Path, file: str, problems: list[Problem]) -> Folder:
    """The tree below *path*; drafts (``_name``) and dot files are passed over.

    Links, devices and names that not every file system can hold become problems.
    """
    root = Folder(path.name, file, os.fspath(path))
    _scan(root, problems)
    return root


def _scan(folder: Folder, problems: list[Problem]) -> None:
    seen: dict[str, str] = {}
    with os.scandir(folder.path) as iterator:
        entries = sorted(iterator, key=lambda entry: sort_key(entry.name))
    for entry in entries:
        name = entry.name.encode("utf-8", "backslashreplace").decode()  # what no report could hold
        if name[0] in "._":
            continue
        file = f"{folder.file}/{name}"
        if problem := _check_name(name, file, seen) or _check_kind(entry, file):
            problems.append(problem)
            folder.refused.append(name)
        elif entry.is_dir(follow_symlinks=False):
            sub = Folder(name, file, entry.path)
            folder.folders.append(sub)
            _scan(sub, problems)
        else:
            folder.files.append(Entry(name, file, entry.path))


def _check_kind(entry: os.DirEntry[str], file: str) -> Problem | None:
    if entry.is_symlink():
        hint = "copy the file into the content folder"
        return Problem("SRC008", file, "symbolic links are not followed", hint=hint)
    if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
        return None
    return Problem("SRC010", file, "not a regular file")


def _check_name(name: str, file: str, seen: dict[str, str]) -> Problem | None:
    folded = name.casefold()
    if other := seen.get(folded):
        return Problem("SRC009", file, f'"{name}" and "{other}" differ only in case')
    seen[folded] = name
    if name in _USUAL:
        return None
    stem = folded.split(".")[0]
    number = split_number(stem)
    if stem in DEVICE_NAMES or (number and number[1] in DEVICE_NAMES):
        device = number[1] if number else stem
        return Problem(
            "SRC009", file, f'"{device}" is a device name on Windows', hint="choose another name"
        )
    if not _PORTABLE.match(name) or name.endswith("."):
        return Problem(
            "SRC009",
            file,
            "the name contains characters that some systems cannot store",
            expected="letters, digits, dot, hyphen and underscore",
            hint="rename it",
        )
    return None


def read_bytes(entry: Entry, limit: int, problems: list[Problem]) -> bytes | None:
    """The bytes of *entry*, or None with a problem when it is too large or unreadable."""
    try:
        with open(entry.path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= limit:
                return file.read()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        problems.append(Problem("SRC010", entry.file, message, hint="check its permissions"))
        return None
    media = "/media/" in entry.file
    cure = "raise limits.mediaKiB in course.yaml" if media else "split it"
    problems.append(
        Problem(
            "SRC005",
            entry.file,
            "the file is too large",
            expected=f"at most {limit:,} bytes",
            got=f"{size:,} bytes",
            hint=f"make it smaller, or {cure}",
        )
    )
    return None


def decode_text(data: bytes, file: str, problems: list[Problem]) -> str | None:
    """*data* as text: UTF-8, LF, no byte-order mark, no control characters, no open merge."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        span = Span(line, column, line, column + 1)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        problems.append(Problem("SRC001", file, message, span=span))
        return None
    if text.startswith("\ufeff"):
        message = "the file begins with a byte-order mark"
        problems.append(Problem("SRC002", file, message, span=Span(1, 1, 1, 2)))
    elif (at := text.find("\r")) >= 0:
        span = span_at(text, at, at + 1)
        problems.append(Problem("SRC003", file, "the line ends with CR", span=span))
    elif data.translate(None, _PLAIN) and (match := _CONTROL.search(text)):
        message = f"control character U+{ord(match[0]):04X}"
        problems.append(Problem("SRC004", file, message, span=span_at(text, *match.span())))
    elif merge := find_merge_marker(text, file):
        problems.append(merge)
    else:
        return text
    return None


def find_control(text: str) -> str | None:
    """The first character of *text* that no source may hold, written or as an entity."""
    match = _CONTROL.search(text)
    return match[0] if match else None


def find_merge_marker(text: str, file: str) -> Problem | None:
    """The first mark of a merge that was never resolved.

    The line between the two versions counts in YAML only: elsewhere it may underline a title.
    """
    match = None
    if "<<<<<<<" in text or ">>>>>>>" in text:
        match = _MERGE.search(text)
    if match is None and file.endswith((".yaml", ".lock")) and "=======" in text:
        match = _MIDDLE.search(text)
    if match is None:
        return None
    return Problem(
        "SRC014",
        file,
        "an unresolved merge conflict",
        span=span_at(text, match.start(), match.end()),
        got=shorten(match[0]),
    )


def find_unfinished(text: str, file: str, what: str, *, may_wait: bool) -> Iterator[Problem]:
    """The first mark of unfinished work in the *text* of *file*; *what* says whose text it is.

    *may_wait* says that its author may set ``status: planned`` instead of finishing it.
    """
    if not any(word in text for word in _UNFINISHED_WORDS):
        return  # three searches for a word cost less than one pattern
    hint = "finish the text, or set status: planned" if may_wait else "finish the text"
    places = list(_UNFINISHED.finditer(text))
    if places:
        more = f" at {len(places)} places, first here" if len(places) > 1 else ""
        span = span_at(text, *places[0].span())
        yield Problem("LES018", file, f"{what} says {places[0][0]}{more}", span=span, hint=hint)


def report_unknown(entry: Entry | Folder, allowed: list[str], where: str) -> Problem:
    """A file or folder that the layout has no place for."""
    return Problem(
        "SRC006",
        entry.file,
        f"{where} cannot contain this",
        expected=", ".join(allowed),
        got=entry.name,
        hint=_suggest_language(entry.name) or _suggest_name(entry.name, allowed),
    )


def _suggest_name(name: str, allowed: list[str]) -> str | None:
    """Suggest the name that was meant, or the formats that are allowed."""
    formats = [form.removeprefix("*") for form in allowed if form.startswith("*.")]
    if (lower := name.lower()) != name and lower.endswith(tuple(formats)):
        return f"name it {lower}"
    if formats and "." in name:
        return f"save it in another format ({', '.join(formats)}), or begin its name with _"
    return nearest(name, [form for form in allowed if form[:2] != "NN"])


def _suggest_language(name: str) -> str | None:
    """Return a hint for a translation into a language that the course does not list."""
    match = _TRANSLATION.match(name)
    if match is None:
        return None
    return (
        f"name {match[1]} in the languages of course.yaml: translations may lie there, "
        "and are not shown yet"
    )


def report_missing(folder: Folder, name: str, what: str) -> list[Problem]:
    """Report that *folder* lacks its main file *name*, unless that was refused."""
    if name in folder.refused:
        return []
    there = [entry.name for entry in folder.files]
    near = next((file_name for file_name in there if _stem(file_name) == _stem(name)), None)
    present = shorten(", ".join([*there, *(f"{sub.name}/" for sub in folder.folders)]))
    message = f"the folder of {what} has no {name}"
    hint = f"create {name}, or begin the folder name with _ while it is a draft"
    hint = f"rename {near} to {name}" if near else hint
    file = f"{folder.file}/{name}"
    return [Problem("SRC007", file, message, got=present or "an empty folder", hint=hint)]


def _stem(name: str) -> str:
    """Return the common part of two spellings of a name: ``Lesson.md`` and ``lesson.markdown``."""
    return name.rpartition(".")[0].casefold()


def is_language(tag: str) -> bool:
    """Whether *tag* can stand in ``lesson.<tag>.md``."""
    return bool(_LANGUAGE.match(tag))


def is_translation(name: str, offered: Collection[str] | None) -> bool:
    """Whether *name* is ``lesson.<tag>.md`` or ``quiz.<tag>.yaml`` of a language in *offered*.

    Any language will do where *offered* is None.
    """
    kind, _, rest = name.partition(".")
    tag, _, suffix = rest.rpartition(".")
    return (kind, suffix) in (("lesson", "md"), ("quiz", "yaml")) and (
        is_language(tag) if offered is None else tag in offered
    )


def is_regular(path: Path) -> bool:
    """Whether *path* is a plain file, not a link, folder or device."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of *path* in one step; its permissions stay."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
