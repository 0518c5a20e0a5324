"""The command ``pull``: parse the command line, install the model, report the result."""

import argparse
import asyncio
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from runtime.llm.commands.pull import encoder, files
from runtime.llm.commands.pull.fetch import Misused, Origin, PullFailed, list_waiting_files, say
from runtime.llm.models.download import NO_SPACE, TransferFailed, fetch_headers
from runtime.llm.settings import PROGRAM, LlmSettings
from runtime.web.commands import INTERRUPTED

NAMED: Final = {"minilm": encoder.MINILM}
"""Models that are converted, not only downloaded."""
_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
HUB: Final = "hf:"
_ON_HUB: Final = re.compile(
    r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[^:?#\\]+)"
)
_SHA256: Final = re.compile(r'"?([0-9a-f]{64})"?')
EXAMPLES: Final = f"""examples:
  {PROGRAM} pull minilm
      the sentence encoder all-MiniLM-L6-v2, for embeddings and document search
  {PROGRAM} pull https://example.org/models/small.gguf --sha256 0123...cdef
      a chat model; the download page of a file usually shows its SHA-256
  {PROGRAM} pull hf:owner/repo:small-q4_k_m.gguf
      a file of a Hugging Face hub, verified with the hub's checksum; owner/repo@revision selects
      a revision, --mirror ADDRESS another hub, and HF_TOKEN gives access to private files

To resume an interrupted download, repeat the command; partial files are in the subfolder .pull,
which may be deleted. A running server lists a new model at once. The models folder is the server's:
--models-dir, LLMSVC_MODELS_DIR, a settings file, or "models" in the data folder."""


def main(argv: Sequence[str]) -> int:
    """Install a model; exit code: 0 installed, 1 failed, 2 wrong usage, 130 interrupted."""
    chosen = _parser().parse_args(argv)
    settings = load_settings(chosen, os.environ)
    models = settings.models_folder.absolute()
    # The log of the server's modules is not meant for users of this command.
    logging.getLogger("runtime").addHandler(logging.NullHandler())
    try:
        report = _install(chosen, models, settings.model_hub)
    except PullFailed as problem:
        return _fail(str(problem), problem.status)
    except OSError as problem:
        return _fail(_explain_disk(problem, models), 1)
    except KeyboardInterrupt:
        kept = "; downloaded data is kept" if list_waiting_files(models) else ""
        return _fail(f"interrupted{kept}", INTERRUPTED)
    sys.stdout.write(f"{report}\n")
    return 0


def load_settings(chosen: argparse.Namespace, environ: Mapping[str, str]) -> LlmSettings:
    """Load the server's settings: the models folder and the hub."""
    flags = {
        "models-dir": chosen.models_dir,
        "data-dir": chosen.data_dir,
        "config": chosen.config,
        "model-hub": chosen.mirror,
    }
    arguments = [f"--{flag}={value}" for flag, value in flags.items() if value is not None]
    return LlmSettings.load(arguments, environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} pull",
        description="Download a model file into the models folder and verify it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    names = ", ".join(NAMED)
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help=f"{names}, hf:owner/repo:file, or address or path of a .gguf or .onnx file",
    )
    add(
        "--sha256",
        type=_parse_digest,
        metavar="HEX",
        help="expected SHA-256; required for an address; hubs provide it",
    )
    add(
        "--size",
        type=_parse_bytes,
        metavar="BYTES",
        help="size; required if the source does not report it",
    )
    add("--mirror", metavar="ADDRESS", help="hub for hf: files (default: the setting model_hub)")
    add("--name", help="id of the model in the server (default: file name without extension)")
    add("--vocab", metavar="FILE", help="address or path of an ONNX model's vocabulary")
    add("--vocab-sha256", type=_parse_digest, metavar="HEX", help="its checksum")
    add("--half", action="store_true", help=f"{names}: 16-bit weights, half the size")
    add("--force", action="store_true", help="overwrite a different file of the same name")
    add("--models-dir", metavar="DIR", help="folder of model files")
    add("--data-dir", metavar="DIR", help="folder of the server's data")
    add("--config", metavar="FILE", help="TOML file with the server's settings")
    return parser


def _parse_digest(text: str) -> str:
    if not _HEX.fullmatch(text):
        raise argparse.ArgumentTypeError("must be 64 hexadecimal digits")
    return text.lower()


def _parse_bytes(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 50:
        raise argparse.ArgumentTypeError("must be a number of bytes")
    return int(text)


def _install(chosen: argparse.Namespace, models: Path, address: str) -> str:
    recipe = NAMED.get(chosen.model)
    if recipe is not None:
        foreign = (chosen.sha256, chosen.size, chosen.name, chosen.vocab, chosen.vocab_sha256)
        if any(value is not None for value in foreign):
            raise Misused(
                f"{chosen.model} allows only the flags --half, --force and those of folders"
            )
        return encoder.install(recipe, models, half=chosen.half, force=chosen.force)
    if chosen.half:
        raise Misused(f"--half is only for {', '.join(NAMED)}; files are never converted")
    if chosen.vocab is None and chosen.vocab_sha256 is not None:
        raise Misused("--vocab-sha256 requires --vocab")
    vocab = Origin(chosen.vocab, chosen.vocab_sha256) if chosen.vocab is not None else None
    model = Origin(chosen.model, chosen.sha256, chosen.size)
    if chosen.model.startswith(HUB):
        model = _find_on_hub(model, address, os.environ.get("HF_TOKEN", "").strip())
    return files.install(files.Request(model, vocab, chosen.name, chosen.force), models)


def _find_on_hub(origin: Origin, hub: str, token: str) -> Origin:
    """Locate a file on the *hub*, with its checksum and size there unless the user gave them.

    Raises `Misused` for an invalid name, `PullFailed` if the hub does not answer.
    """
    place = _ON_HUB.fullmatch(origin.source)
    if place is None or ".." in place["file"].split("/"):
        raise Misused(f"{origin.shown} is not a file of a hub: hf:owner/repo:file.gguf")
    path = f"{place['repo']}/resolve/{place['revision'] or 'main'}/{quote(place['file'])}"
    address = f"{hub.rstrip('/')}/{path}"
    located = replace(origin, source=address, label=origin.source, token=token)
    try:
        headers = asyncio.run(fetch_headers(located.url, token, ("X-Linked-Etag", "X-Linked-Size")))
    except TransferFailed as failure:
        hint = "; if its repository is private or gated, set HF_TOKEN"
        is_refused = failure.reason == "http_error" and re.search("40[134]$", str(failure))
        raise PullFailed(f"{origin.shown}: {failure}{hint if is_refused else ''}") from None
    checksum = _SHA256.fullmatch(headers["X-Linked-Etag"])
    size = headers["X-Linked-Size"]
    if origin.sha256 is None:
        if checksum is None:
            raise Misused(f"the hub has no SHA-256 of {origin.shown}; give it with --sha256 HEX")
        say(f"checksum from the hub: {checksum[1]}")
        located = replace(located, sha256=checksum[1])
    if origin.size is None and size.isdecimal():
        located = replace(located, size=int(size))
    return located


def _explain_disk(problem: OSError, models: Path) -> str:
    if problem.errno in NO_SPACE:
        return f"the disk is full: {models} has no room for the model"
    return f"{problem.filename or models} cannot be used: {problem.strerror or problem}"


def _fail(text: str, status: int) -> int:
    sys.stderr.write(f"pull: {text}\n")
    return status
