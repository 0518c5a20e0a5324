"""The command ``pull``: reads its command line, says what became of it."""

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
from runtime.llm.commands.pull.fetch import Misused, Origin, PullFailed, say, waiting_files
from runtime.llm.commands.pull.minilm import MINILM
from runtime.llm.models.download import NO_SPACE, TransferFailed, fetch_headers
from runtime.llm.settings import PROGRAM, LlmSettings
from runtime.web.commands import INTERRUPTED

NAMED: Final = {"minilm": MINILM}
"""Models that are made rather than only fetched."""
_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
HUB: Final = "hf:"
_ON_HUB: Final = re.compile(
    r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[^:?#\\]+)"
)
_SHA256: Final = re.compile(r'"?([0-9a-f]{64})"?')
EXAMPLES: Final = f"""examples:
  {PROGRAM} pull minilm
      the sentence encoder all-MiniLM-L6-v2, for embeddings and for search in documents
  {PROGRAM} pull https://example.org/models/small.gguf --sha256 0123...cdef
      a chat model; the page that offers a file usually shows its SHA-256 too
  {PROGRAM} pull hf:owner/repo:small-q4_k_m.gguf
      a file of a Hugging Face hub, with the checksum that the hub names; owner/repo@revision works
      too, --mirror ADDRESS asks another hub, and HF_TOKEN opens what is private

A download that was cut off goes on when the same command is given again; its bytes lie in the
subfolder .pull, which may be deleted. A running server lists a new model at once. The models
folder is the server's: --models-dir, LLMSVC_MODELS_DIR, a settings file, or "models" in the data
folder."""


def main(argv: Sequence[str]) -> int:
    """Bring a model; the exit code: 0 it is there, 1 it is not, 2 misused, 130 interrupted."""
    chosen = _parser().parse_args(argv)
    settings = settings_of(chosen, os.environ)
    models = settings.models_folder.absolute()
    # What the processes of the server log is no reading for this one's user.
    logging.getLogger("runtime").addHandler(logging.NullHandler())
    try:
        report = _bring(chosen, models, settings.model_hub)
    except PullFailed as problem:
        return _fail(str(problem), problem.status)
    except OSError as problem:
        return _fail(_disk(problem, models), 1)
    except KeyboardInterrupt:
        kept = "; what has arrived is kept" if waiting_files(models) else ""
        return _fail(f"interrupted{kept}", INTERRUPTED)
    sys.stdout.write(f"{report}\n")
    return 0


def settings_of(chosen: argparse.Namespace, environ: Mapping[str, str]) -> LlmSettings:
    """The same settings as the server's: the models folder, the hub."""
    flags = {
        "models-dir": chosen.models_dir,
        "data-dir": chosen.data_dir,
        "config": chosen.config,
        "model-hub": chosen.mirror,
    }
    given = [f"--{flag}={value}" for flag, value in flags.items() if value is not None]
    return LlmSettings.load(given, environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} pull",
        description="Bring a model file into the models folder, checked before it gets its name.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    named = ", ".join(NAMED)
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help=f"{named}, hf:owner/repo:file, or address or path of a .gguf or .onnx file",
    )
    add(
        "--sha256",
        type=_digest,
        metavar="HEX",
        help="expected SHA-256; required for an address, a hub states its own",
    )
    add("--size", type=_bytes, metavar="BYTES", help="size; needed where the source tells none")
    add(
        "--mirror", metavar="ADDRESS", help="hub to take hf: files from; else the setting model_hub"
    )
    add("--name", help="id of the model in the server; else its file name without the ending")
    add("--vocab", metavar="FILE", help="address or path of an ONNX model's vocabulary")
    add("--vocab-sha256", type=_digest, metavar="HEX", help="its checksum")
    add("--half", action="store_true", help=f"{named}: weights of 16 bits, half the size")
    add("--force", action="store_true", help="overwrite a file of that name whose content differs")
    add("--models-dir", metavar="DIR", help="folder of model files")
    add("--data-dir", metavar="DIR", help="folder of the server's data")
    add("--config", metavar="FILE", help="TOML file with the server's settings")
    return parser


def _digest(text: str) -> str:
    if not _HEX.fullmatch(text):
        raise argparse.ArgumentTypeError("must be 64 hexadecimal digits")
    return text.lower()


def _bytes(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 50:
        raise argparse.ArgumentTypeError("must be a number of bytes")
    return int(text)


def _bring(chosen: argparse.Namespace, models: Path, address: str) -> str:
    recipe = NAMED.get(chosen.model)
    if recipe is not None:
        foreign = (chosen.sha256, chosen.size, chosen.name, chosen.vocab, chosen.vocab_sha256)
        if any(value is not None for value in foreign):
            raise Misused(f"{chosen.model} takes no flags but --half, --force and those of folders")
        return encoder.bring(recipe, models, half=chosen.half, force=chosen.force)
    if chosen.half:
        raise Misused(f"--half is for {', '.join(NAMED)}; a file is taken as it is")
    if chosen.vocab is None and chosen.vocab_sha256 is not None:
        raise Misused("--vocab-sha256 needs --vocab")
    vocab = Origin(chosen.vocab, chosen.vocab_sha256) if chosen.vocab is not None else None
    model = Origin(chosen.model, chosen.sha256, chosen.size)
    if chosen.model.startswith(HUB):
        model = _find_on_hub(model, address, os.environ.get("HF_TOKEN", "").strip())
    return files.bring(files.Request(model, vocab, chosen.name, chosen.force), models)


def _find_on_hub(origin: Origin, hub: str, token: str) -> Origin:
    """Where the file lies on the *hub*, and what that says of it; what the user gave counts more.

    Raises `Misused` for what names no file, `PullFailed` where the hub does not answer.
    """
    place = _ON_HUB.fullmatch(origin.given)
    if place is None or ".." in place["file"].split("/"):
        raise Misused(f"{origin.shown} names no file of a hub: hf:owner/repo:file.gguf")
    path = f"{place['repo']}/resolve/{place['revision'] or 'main'}/{quote(place['file'])}"
    address = f"{hub.rstrip('/')}/{path}"
    located = replace(origin, given=address, label=origin.given, token=token)
    try:
        headers = asyncio.run(fetch_headers(located.url, token, ("X-Linked-Etag", "X-Linked-Size")))
    except TransferFailed as failure:
        hint = "; is its repository private or gated? HF_TOKEN may hold a token"
        refused = failure.reason == "http_error" and re.search("40[134]$", str(failure))
        raise PullFailed(f"{origin.shown}: {failure}{hint if refused else ''}") from None
    named = _SHA256.fullmatch(headers["X-Linked-Etag"])
    size = headers["X-Linked-Size"]
    if origin.sha256 is None:
        if named is None:
            raise Misused(f"the hub names no SHA-256 of {origin.shown}; give it with --sha256 HEX")
        say(f"checksum as the hub names it: {named[1]}")
        located = replace(located, sha256=named[1])
    if origin.size is None and size.isdecimal():
        located = replace(located, size=int(size))
    return located


def _disk(problem: OSError, models: Path) -> str:
    if problem.errno in NO_SPACE:
        return f"the disk is full; {models} has no room for the model"
    return f"{problem.filename or models} cannot be used: {problem.strerror or problem}"


def _fail(text: str, status: int) -> int:
    sys.stderr.write(f"pull: {text}\n")
    return status
