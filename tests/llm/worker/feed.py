"""Feeds model files to the real engine, each in a fork, and prints how each fork ended.

Run as `python -m tests.llm.worker.feed FILE…`; one line a file: `fine`, `refused` or the signal.
"""

import os
import resource
import signal
import sys

from runtime.llm.engine.worker import native
from runtime.llm.inference import Sampling

FINE, REFUSED = 0, 1
_SECONDS = 20


def use(path: str) -> int:
    """Load, prefill and decode a little."""
    try:
        model = native.Model(path, 0)
        context = native.Context(model, 256, native.Threads(1, 1))
        tokens = model.tokenize("<|im_start|>user\nhello wörld 123<|im_end|>\n", whole=True)[:200]
        if not tokens or context.decode([native.Slice(tokens, 0, 0, last=True)]) != native.DECODED:
            return REFUSED
        sampler = native.Sampler(Sampling(0.8, 40, 0.9, 1), model)
        for at in range(4):
            token = sampler.sample(context)
            model.piece(token)
            step = native.Slice([token], len(tokens) + at, 0, last=True)
            if context.decode([step]) != native.DECODED:
                return REFUSED
    except native.EngineError:
        return REFUSED
    _ = model.special_texts
    context.free()
    return FINE


def _fork(path: str) -> str:
    child = os.fork()
    if not child:
        signal.alarm(_SECONDS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.close(2)
        os._exit(use(path))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {FINE: "fine", REFUSED: "refused"}.get(code, str(code))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(_fork(name) + "\n")
        sys.stdout.flush()
