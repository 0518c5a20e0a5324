"""Holds a reply to a grammar: which tokens may come next, by llguidance."""

import re
import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from runtime.llm.engine.worker.native import Logits, Model
from runtime.llm.grammar import BadGrammar

MAX_ITEMS: Final = 1000
"""Readings of a text that a grammar may leave open at one place; the work grows with its cube."""
KEPT: Final = 16
"""Compiled grammars."""
_LIMITS: Final = LLParserLimits(max_items_in_row=MAX_ITEMS)
_KEYWORDS: Final = re.compile(r"Unimplemented keys: \[([^\]]*)\]")
_NO_FURTHER: Final = "the response format or grammar cannot be followed any further: "
_COMPLAINTS: Final = {
    "unknown format": "its format is not one that can be enforced",
    "oneof constraints": "oneOf cannot be enforced where a value may fit two branches; use anyOf",
    "look-around": "a pattern with look-around cannot be enforced",
    "regex parse error": "a pattern cannot be read",
    "unsatisfiable": "no value can match it",
    "min/maxproperties": "minProperties and maxProperties cannot be enforced for it",
    "invalid type": "there is no such type",
    "retriev": "$ref must point at a place inside the schema",
    "pointer": "$ref must point at a place inside the schema",
    "not disjoint": "patternProperties cannot be enforced where a name may fit two patterns",
    "too large": "it is too large",
    "too big": "it is too large",
    "limit": "it is too large or too deep, or what it asks for has no end",
    "too deep": "it is too deep",
}


class _Words:
    """A vocabulary as llguidance reads it; a token without bytes never fits."""

    def __init__(self, model: Model) -> None:
        self._model = model
        ends = [token for token in range(model.n_vocab) if model.piece(token) is None]
        self.eos_token_id = ends[0] if ends else 0
        self.bos_token_id = None
        self.tokens = [model.piece(token) or b"" for token in range(model.n_vocab)]
        self.ends = ends

    def __call__(self, text: bytes) -> list[int]:
        return self._model.tokenize(text.decode("utf-8", "replace"), markers=False)


class Grammars:
    """Compiles grammars for a model, and keeps the last ones. Making one takes 0.3 s."""

    def __init__(self, model: Model) -> None:
        words = _Words(model)
        self._tokenizer = LLTokenizer(TokenizerWrapper(words), eos_token=words.ends)
        self._lock = threading.Lock()
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()

    def rule(self, grammar: str, trigger: str = "") -> "Constraint":
        """What one reply must match; raises `BadGrammar`."""
        with self._lock:
            matcher = self._compiled.pop(grammar, None)
            if matcher is None:
                matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=_LIMITS)
                check(matcher, "the response format or grammar cannot be enforced: ")
            self._compiled[grammar] = matcher
            if len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
            return Constraint(self._tokenizer, matcher.deep_copy(), trigger)


class Constraint:
    """What one reply must match, from its beginning or from behind a text that triggers it."""

    def __init__(self, tokenizer: LLTokenizer, matcher: LLMatcher, trigger: str) -> None:
        self._tokenizer = tokenizer
        self._matcher = matcher
        self._trigger = trigger.encode()
        self._free = b""
        """The end of the text before the trigger."""

    def mask(self, logits: Logits) -> None:
        """Make the tokens that may not come next impossible."""
        if self._trigger:
            return
        allowed = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        check(self._matcher, _NO_FURTHER)
        values = np.ctypeslib.as_array(logits)
        values[np.unpackbits(allowed, count=len(values), bitorder="little") == 0] = -np.inf

    def accept(self, token: int, data: bytes | None) -> None:
        """Take the next token of the reply and its bytes; None: it ended the reply."""
        if data is None:
            return
        if not self._trigger:
            self._matcher.consume_token(token)
        else:
            before, trigger, behind = (self._free + data).partition(self._trigger)
            if not trigger:
                self._free = before[max(0, len(before) - len(self._trigger) + 1) :]
                return
            self._trigger = b""
            self._matcher.consume_tokens(self._tokenizer.tokenize_bytes(behind.lstrip()))
        check(self._matcher, _NO_FURTHER)


def check(matcher: LLMatcher, what: str) -> None:
    """Raise `BadGrammar`, which begins with *what*, once the matcher has failed."""
    if matcher.is_error():
        raise BadGrammar(what + _complaint(matcher.get_error()))


def _complaint(error: str) -> str:
    """An error of llguidance without what the client had sent."""
    keywords = _KEYWORDS.search(error)
    if keywords:
        return "no support for " + keywords[1].replace('"', "")
    said = error.lower()
    return next((words for mark, words in _COMPLAINTS.items() if mark in said), "it is not valid")
