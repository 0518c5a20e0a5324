"""The floor of the comparison: llama.cpp's decode and greedy sampling in a plain loop.

Runs as a process of its own: python -m bench.llm_raw MODEL --tokens 500
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from types import ModuleType

from llama_cpp import llama_cpp

from bench.llm_figures import Pace


def measure(path: str, *, prompt: int, tokens: int, threads: int, cells: int) -> Pace:
    """Feed *prompt* tokens, then generate *tokens*; the cost of one of those."""
    library: ModuleType = llama_cpp
    quiet = library.llama_log_callback(lambda _level, _text, _data: None)
    library.llama_log_set(quiet, None)
    library.llama_backend_init()
    model_params = library.llama_model_default_params()
    model_params.n_gpu_layers = 0
    if b"AMX_INT8 = 1" in library.llama_print_system_info():
        model_params.use_extra_bufts = False  # see bench/llm_peers.py: NO_AMX
    model = library.llama_model_load_from_file(path.encode(), model_params)
    params = library.llama_context_default_params()
    params.n_ctx = cells
    params.n_threads = params.n_threads_batch = threads
    params.no_perf = True
    context = library.llama_init_from_model(model, params)
    if not context:
        raise RuntimeError("llama.cpp cannot load this model")
    sampler = library.llama_sampler_init_greedy()
    feed = (library.llama_token * prompt)(*(100 + at % 50 for at in range(prompt)))
    if library.llama_decode(context, library.llama_batch_get_one(feed, prompt)):
        raise RuntimeError("llama.cpp cannot decode the prompt")
    token = (library.llama_token * 1)(library.llama_sampler_sample(sampler, context, -1))
    batch = library.llama_batch_get_one(token, 1)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(tokens):
        library.llama_decode(context, batch)
        token[0] = library.llama_sampler_sample(sampler, context, -1)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Pace(wall * 1e3 / tokens, cpu * 1e3 / tokens)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the cost of a token as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.llm_raw", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cells", type=int, default=4096)
    given = parser.parse_args(argv)
    pace = measure(
        given.model,
        prompt=given.prompt,
        tokens=given.tokens,
        threads=given.threads,
        cells=given.cells,
    )
    print(json.dumps(pace._asdict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
