"""Serves a GGUF file with the server engine of llama.cpp that the wheel of xllamacpp contains.

`bench.llm` runs it in an environment of its own: `llama_peer.py MODEL CELLS`. The rest is
what `llama-server` does without flags.
"""

import json
import sys

import xllamacpp

SLOTS = 4
"""Replies at a time over one cache of cells, as `llama-server` chooses by itself."""


def main(model: str, cells: int) -> None:
    """Print the port, and serve until the standard input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = cells
    params.n_parallel, params.kv_unified = SLOTS, True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(json.dumps({"port": int(server.listening_address.rpartition(":")[2])}), flush=True)
    sys.stdin.read()


main(sys.argv[1], int(sys.argv[2]))
