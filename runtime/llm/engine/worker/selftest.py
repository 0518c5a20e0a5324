"""Lets a tiny model answer before a real one is loaded: the library must compute what it should."""

from pathlib import Path
from typing import Final

from runtime.llm.engine.worker import native
from runtime.llm.inference import GREEDY

MODEL: Final = Path(__file__).with_name("selftest.gguf")
"""A model of 230 KB that answers the prompt with the expected words, by a wide margin."""
PROMPT: Final = "<red>"
EXPECTED: Final = "one two three four five six seven eight "
_FAILED: Final = f"the engine's library ({native.LIBRARY}) fails its self-test; reinstall it"


def check_library() -> None:
    """Load the tiny model and compute eight tokens. Raises `EngineError`."""
    model = native.Model(str(MODEL), 0)
    context = native.Context(model, 64, native.Threads(1, 1))
    sampler = native.Sampler(GREEDY, model)
    try:
        tokens = model.tokenize(PROMPT)
        text, at = b"", 0
        for _ in range(EXPECTED.count(" ") + 1):
            if context.decode([native.Slice(tokens, at, 0, last=True)]) != native.DECODED:
                break
            at += len(tokens)
            tokens = [sampler.sample(context)]
            piece = model.piece(tokens[0])
            if piece is None:
                break
            text += piece
    finally:
        sampler.free()
        context.free()
    if text.decode("utf-8", "replace") != EXPECTED:
        raise native.EngineError(_FAILED)
