r"""Formulas of a text: LaTeX to MathML, strictly; what the library does not know is an error."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_ALIGN: Final = re.compile(r'(<m[a-z]+) style="text-align: (left|right)[^"]*"')
_PROSE: Final = re.compile(r"(?<=[\w.,] )[a-z]{2,}(?= \w)")
_STYLE: Final = re.compile(r'(<m[a-z]+[^<>]*?) style="[^"]*"')


class MathsError(Exception):
    """LaTeX that cannot be read; ``offset`` counts its characters up to the fault."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@lru_cache(maxsize=1024)
def mathml(tex: str, *, display: bool) -> str:
    """The formula *tex* as an element ``math``; with *display* on a line of its own.

    The site allows no inline styles, so that an alignment becomes a class. Raises MathsError.
    """
    from math_core import LatexError, LatexToMathML  # only a text with a formula asks for it

    if not tex.strip():
        raise MathsError("the formula is empty", 0)
    if "\\color" in tex:
        raise MathsError("colours are left to the page", tex.index("\\color"))
    if words := _PROSE.search(tex):
        message = f'"{words[0]}" is not a name in a formula; mark words with \\text{{{words[0]}}}'
        raise MathsError(message, words.start())
    try:
        html = LatexToMathML(fancy_error=False).convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        offset, _, message = str(error).partition(": ")
        message = message.rstrip(".")
        raise MathsError(message[:1].lower() + message[1:], int(offset)) from error
    return _STYLE.sub(r"\1", _ALIGN.sub(r'\1 class="\2"', html))
