"""Code in lessons: known languages, highlighting, and Python that must compile."""

from __future__ import annotations

import re
import warnings
from functools import cache, lru_cache
from html import escape
from typing import Final, NamedTuple

from course.diagnostics import shorten

PYTHON: Final = frozenset({"python", "py", "python3"})
"""The languages whose code enters the script and the notebook of a lesson."""

_PYTHON_WORDS: Final = (
    "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|"
    "global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield"
)
_PYTHON_NAMES: Final = (
    "None|True|False|abs|all|any|bool|bytes|dict|enumerate|float|int|isinstance|len|list|map|max|"
    "min|open|print|range|repr|reversed|round|set|sorted|str|sum|tuple|type|zip"
)
_SQL_WORDS: Final = (
    "select|from|where|group|by|order|having|limit|offset|join|left|right|inner|outer|on|as|and|"
    "or|not|in|is|null|insert|into|values|update|set|delete|create|table|index|view|with|case|"
    "when|then|else|end|distinct|union|all|over|partition|between|like|asc|desc|primary|key"
)
_SHELL_WORDS: Final = "if|then|else|elif|fi|for|in|do|done|while|case|esac|function|export|cd|set"
_QUOTED: Final = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_PYTHON_STRING: Final = (
    r"(?:\b[rbfuRBFU]{1,2})?(?:\"\"\"[\s\S]*?(?:\"\"\"|\Z)|'''[\s\S]*?(?:'''|\Z)|" + _QUOTED + ")"
)
_NUMBER: Final = r"\b(?:0[xXbBoO][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][-+]?[0-9]+)?)\b"
# Half of all characters begin no token; to say so once takes a third off the search.
_NO_START: Final = r"(?:(?![ (){}\[\]:,.=+*/\n-])|^)"

_NO_MARKUP: Final = frozenset("kbn")  # words and numbers: nothing to escape
_WORD: Final = r"[A-Za-z_][A-Za-z0-9_]*"


class _Language(NamedTuple):
    """Tokens by group name (k s c n b o f, or w for a word that the table decides)."""

    pattern: str
    words: dict[str, str]
    names_follow: frozenset[str] = frozenset()


def _table(**kinds: str) -> dict[str, str]:
    return {word: kind for kind, words in kinds.items() for word in words.split("|")}


_LANGUAGES: Final[dict[str, _Language]] = {
    "python": _Language(
        rf"{_NO_START}(?:(?P<c>\#[^\n]*)|(?P<s>{_PYTHON_STRING})|(?P<w>{_WORD})|(?P<n>{_NUMBER})|"
        r"(?P<f>^[ \t]*@[\w.]+))",
        _table(k=_PYTHON_WORDS, b=_PYTHON_NAMES),
        frozenset({"def", "class"}),
    ),
    "json": _Language(
        r"(?P<f>\"(?:\\.|[^\"\\\n])*\"(?=\s*:))|(?P<s>\"(?:\\.|[^\"\\\n])*\")|"
        r"(?P<w>[a-z]+)|(?P<n>-?\b[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\b)",
        _table(b="true|false|null"),
    ),
    "sql": _Language(
        r"(?P<c>--[^\n]*|/\*[\s\S]*?\*/)|(?P<s>'(?:''|[^'])*')|"
        rf"(?P<w>{_WORD})|(?P<n>{_NUMBER})",
        _table(k=f"{_SQL_WORDS}|{_SQL_WORDS.upper()}", f="count|sum|avg|min|max|abs|round"),
    ),
    "bash": _Language(
        rf"(?P<c>(?:^|(?<=\s))\#[^\n]*)|(?P<s>{_QUOTED})|(?P<b>\$\{{?\w+\}}?)|"
        rf"(?P<o>(?<=\s)--?[A-Za-z][\w-]*)|(?P<w>[\w./:-]+)",
        _table(k=_SHELL_WORDS),
    ),
    "yaml": _Language(
        rf"(?P<c>(?:^|(?<=\s))\#[^\n]*)|(?P<f>^[ -]*[\w-]+(?=:))|(?P<s>{_QUOTED})|"
        rf"(?P<n>{_NUMBER})|(?P<w>[\w./:-]+)",
        _table(b="true|false|null"),
    ),
}
_SAME_AS: Final = {"py": "python", "sh": "bash", "shell": "bash", "console": "bash", "yml": "yaml"}
_PLAIN: Final = frozenset({"text", "txt", "plain", "csv", "log"})
# Pygments token families to our classes, most special first.
_PYGMENTS: Final = (
    ("Comment", "c"),
    ("Keyword.Constant", "b"),
    ("Keyword", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Name.Builtin", "b"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Tag", "k"),
    ("Operator", "o"),
)


@cache
def _pattern(language: str) -> re.Pattern[str]:
    return re.compile(_LANGUAGES[language].pattern, re.MULTILINE)


@lru_cache(maxsize=4096)
def highlight(code: str, language: str) -> str:
    """*code* escaped, its tokens in ``<span class="k|s|c|n|b|o|f">``.

    An unknown language comes back escaped and plain.
    """
    language = _SAME_AS.get(language, language)
    if language in _LANGUAGES:
        return _spans(code, _pattern(language), _LANGUAGES[language])
    return escape(code, quote=False) if language in _PLAIN else _by_pygments(code, language)


def _spans(code: str, pattern: re.Pattern[str], language: _Language) -> str:
    parts: list[str] = []
    last = 0
    words, names_follow = language.words, language.names_follow
    before = ""
    for match in pattern.finditer(code):
        kind: str | None = match.lastgroup
        token = match[0]
        if kind == "w":
            kind = "f" if before in names_follow else words.get(token)
            before = token
        if kind is None:
            continue
        start = match.start()
        parts.append(escape(code[last:start], quote=False))
        text = token if kind in _NO_MARKUP else escape(token, quote=False)
        parts.append(f'<span class="{kind}">{text}</span>')
        last = start + len(token)
    parts.append(escape(code[last:], quote=False))
    return "".join(parts)


def _by_pygments(code: str, language: str) -> str:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(code, quote=False)
    parts: list[str] = []
    for token, value in lexer.get_tokens(code):
        name = str(token).removeprefix("Token.")
        kind = next((short for prefix, short in _PYGMENTS if name.startswith(prefix)), None)
        text = escape(value, quote=False)
        parts.append(f'<span class="{kind}">{text}</span>' if kind and value.strip() else text)
    end = "".join(parts)
    return end if code.endswith("\n") else end.removesuffix("\n")


def is_known(language: str) -> bool:
    """Whether code in *language* can be highlighted (or is plain text on purpose)."""
    language = _SAME_AS.get(language, language)
    if language in _LANGUAGES or language in _PLAIN:
        return True
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        find_lexer_class_by_name(language)
    except ClassNotFound:
        return False
    return True


class Fault(NamedTuple):
    """Why a code does not compile; line and column count from 1, in characters."""

    line: int
    column: int
    message: str


@lru_cache(maxsize=512)  # lessons share small examples
def find_python_fault(source: str) -> Fault | None:
    """Why *source* does not compile as Python, or None. It is never run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an unknown escape: odd, and it runs
            compile(source, "<lesson>", "exec", dont_inherit=True)
    except SyntaxError as error:
        lines = source.split("\n")
        line = min(max(error.lineno or 1, 1), len(lines))
        column = min(max(error.offset or 1, 1), len(lines[line - 1]) + 1)
        return Fault(line, column, shorten(error.msg))
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return Fault(1, 1, "it is nested too deeply")
    return None
