"""Restrict replies to a grammar, with llguidance."""

import re
import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper

from runtime.llm.engine.worker.native import Logits, Model
from runtime.llm.grammar import BadGrammar

MAX_ITEMS: Final = 1000
"""Maximum ambiguity of a grammar at one position; the work grows with its cube."""
KEPT: Final = 16
"""Number of compiled grammars to keep."""
_LIMITS: Final = LLParserLimits(max_items_in_row=MAX_ITEMS)
_KEYWORDS: Final = re.compile(r"Unimplemented keys: \[([^\]]*)\]")
_NO_FURTHER: Final = "the response format or grammar cannot be followed any further: "
_COMPLAINTS: Final = {
    "unknown format": "its format is not supported",
    "oneof constraints": "oneOf cannot be enforced where a value may fit two branches; use anyOf",
    "look-around": "a pattern with look-around cannot be enforced",
    "regex parse error": "a pattern is invalid",
    "unsatisfiable": "no value can match it",
    "min/maxproperties": "minProperties and maxProperties cannot be enforced for it",
    "invalid type": "a type does not exist",
    "retriev": "$ref must point inside the schema",
    "pointer": "$ref must point inside the schema",
    "not disjoint": "patternProperties cannot be enforced where a name may fit two patterns",
    "too large": "it is too large",
    "too big": "it is too large",
    "limit": "it is too large, too deep or unbounded",
    "too deep": "it is too deep",
}


class _Vocabulary:
    """A vocabulary as llguidance expects it; a token without bytes never matches."""

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
    """Compiles grammars for a model and keeps the last ones. Creating it takes 0.3 s."""

    def __init__(self, model: Model) -> None:
        vocabulary = _Vocabulary(model)
        self._tokenizer = LLTokenizer(TokenizerWrapper(vocabulary), eos_token=vocabulary.ends)
        self._lock = threading.Lock()
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()

    def compile(self, grammar: str, trigger: str = "") -> "Constraint":
        """Compile the constraint of a reply. Raises `BadGrammar`."""
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
    """The grammar of a reply, which applies from its start or after a trigger text."""

    def __init__(self, tokenizer: LLTokenizer, matcher: LLMatcher, trigger: str) -> None:
        self._tokenizer = tokenizer
        self._matcher = matcher
        self._trigger = trigger.encode()
        self._free = b""
        """The end of the text that may contain the start of the trigger."""

    def mask(self, logits: Logits) -> None:
        """Set the logits of tokens that may not come next to minus infinity."""
        if self._trigger:
            return
        allowed = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        check(self._matcher, _NO_FURTHER)
        values = np.ctypeslib.as_array(logits)
        values[np.unpackbits(allowed, count=len(values), bitorder="little") == 0] = -np.inf

    def accept(self, token: int, data: bytes | None) -> None:
        """Accept the next token of the reply and its bytes; None if it ended the reply."""
        if data is None:
            return
        if not self._trigger:
            self._matcher.consume_token(token)
        else:
            before, trigger, rest = (self._free + data).partition(self._trigger)
            if not trigger:
                self._free = before[max(0, len(before) - len(self._trigger) + 1) :]
                return
            self._trigger = b""
            self._matcher.consume_tokens(self._tokenizer.tokenize_bytes(rest.lstrip()))
        check(self._matcher, _NO_FURTHER)


def check(matcher: LLMatcher, what: str) -> None:
    """Raise `BadGrammar`, with a text that begins with *what*, if the matcher has failed."""
    if matcher.is_error():
        raise BadGrammar(what + _describe_error(matcher.get_error()))


def _describe_error(error: str) -> str:
    """Describe an error of llguidance without quoting the client's input."""
    keywords = _KEYWORDS.search(error)
    if keywords:
        return "unsupported: " + keywords[1].replace('"', "")
    error = error.lower()
    return next((words for mark, words in _COMPLAINTS.items() if mark in error), "it is not valid")
