"""Serve a GGUF file with the server of llama.cpp in the wheel of xllamacpp.

`bench.llm` runs it in a separate environment: `llama_peer.py MODEL CELLS`. All other settings
are the defaults of `llama-server`.
"""

import json
import sys

import xllamacpp

SLOTS = 4
"""Concurrent replies over one KV cache, the default of `llama-server`."""


def main(model: str, cells: int) -> None:
    """Print the port and serve until standard input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = cells
    params.n_parallel, params.kv_unified = SLOTS, True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(json.dumps({"port": int(server.listening_address.rpartition(":")[2])}), flush=True)
    sys.stdin.read()


main(sys.argv[1], int(sys.argv[2]))
