"""Trains the coach model on the CPU: python -m training.coach.train --minutes 40 --out FOLDER."""

import argparse
import json
import logging
import math
import time
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.coach import vocabulary
from training.coach.corpus.dialogue import conversations
from training.coach.export import reopen
from training.coach.model import Coach
from training.coach.shape import Shape

LOG = logging.getLogger("training.coach")
WARM_UP: Final = 60  # steps
FLOOR: Final = 0.02  # the learning rate ends at this share of its peak
CHUNK: Final = 4000  # conversations that are encoded at once
WEIGHTS: Final = "weights.pt"
SUMMARY: Final = "summary.json"
PROMPT_SHARE: Final = 0.06  # of the other tokens is taught too: it settles their embeddings
TOKENIZER_SAMPLE: Final = 12_000  # conversations


@dataclass(frozen=True)
class Settings:
    """One run of the training; times in minutes, lengths in tokens.

    `decay` is the last share of the run, in which the learning rate falls; `start` an exported
    model file to go on from, with its card beside it.
    """

    out: Path
    start: Path | None
    minutes: float
    conversations: int
    seed: int
    row: int
    batch: int
    rate: float
    decay: float
    threads: int


@dataclass(frozen=True)
class Corpus:
    """All conversations as one row of tokens, and where each conversation starts."""

    ids: Tensor
    taught: Tensor
    starts: Tensor


def build_corpus(settings: Settings, tokenizer: Tokenizer) -> Corpus:
    """Generate the conversations and encode them."""
    ids, taught, starts = array("H"), array("b"), array("l")
    talks = conversations(settings.seed)
    for _ in range(0, settings.conversations, CHUNK):
        for encoded in vocabulary.encode(tokenizer, islice(talks, CHUNK)):
            starts.append(len(ids))
            ids.extend(encoded.ids)
            taught.extend(encoded.taught)
    fits = [start for start in starts if start + settings.row + 1 < len(ids)]
    LOG.info("%d conversations, %d tokens", len(starts), len(ids))
    return Corpus(
        torch.tensor(ids, dtype=torch.int32),
        torch.tensor(taught, dtype=torch.bool),
        torch.tensor(fits),
    )


def new_tokenizer(seed: int, size: int) -> Tokenizer:
    """Train a vocabulary on the first conversations."""
    return vocabulary.train(islice(conversations(seed), TOKENIZER_SAMPLE), size)


def rows(corpus: Corpus, settings: Settings) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Batches of inputs, targets and which targets count; every row starts a conversation.

    Every conversation is used once before any is used again. What follows in a row sees the
    conversations before it, which teaches the model to leave unrelated text alone.
    """
    dice = torch.Generator().manual_seed(settings.seed)
    span = torch.arange(settings.row + 1)
    while True:
        order = torch.randperm(len(corpus.starts), generator=dice)
        for at in range(0, len(order) - settings.batch + 1, settings.batch):
            places = corpus.starts[order[at : at + settings.batch]][:, None] + span
            ids, taught = corpus.ids[places].long(), corpus.taught[places]
            extra = torch.rand(taught.shape, generator=dice) < PROMPT_SHARE
            yield ids[:, :-1], ids[:, 1:], (taught | extra)[:, 1:]


def learning_rate(step: int, done: float, settings: Settings) -> float:
    """Warm-up, then level, then straight down; *done* is the finished share of the run."""
    level = min(1.0, (step + 1) / WARM_UP)
    if settings.decay > 0:
        level *= max(FLOOR, min(1.0, (1 - done) / settings.decay))
    return settings.rate * level


def optimizers(model: Coach, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and scales."""
    matrices = [p for p in model.blk.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return [
        torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(
            [
                {"params": [model.token_embd.weight], "weight_decay": 0.01},
                {"params": vectors, "weight_decay": 0.0},
            ],
            lr=rate,
            betas=(0.9, 0.97),
        ),
    ]


def step_loss(model: Coach, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Mean cross-entropy of the tokens that count."""
    inputs, targets, counts = batch
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model.logits(model(inputs)[counts])
    return functional.cross_entropy(scores.float(), targets[counts])


def fit(model: Coach, corpus: Corpus, settings: Settings) -> dict[str, float]:
    """Train until the time is up; return steps, tokens, seconds and the final mean loss."""
    workers = optimizers(model, settings.rate)
    began, mean, seen = time.monotonic(), math.nan, 0
    for step, batch in enumerate(rows(corpus, settings)):
        done = (time.monotonic() - began) / (settings.minutes * 60)
        if done >= 1:
            break
        for worker in workers:
            for group in worker.param_groups:
                group["lr"] = learning_rate(step, done, settings)
            worker.zero_grad(set_to_none=True)
        loss = step_loss(model, batch)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for worker in workers:
            worker.step()
        seen += batch[0].numel()
        mean = loss.item() if math.isnan(mean) else 0.98 * mean + 0.02 * loss.item()
        if step % 500 == 499:
            torch.save(model.state_dict(), settings.out / WEIGHTS)
        if step % 50 == 0:
            passed = time.monotonic() - began
            LOG.info("step %d loss %.4f %.0f s %.0f tokens/s", step, mean, passed, seen / passed)
    else:
        raise AssertionError("the batches never end")
    return {
        "steps": step,
        "tokens": seen,
        "seconds": round(time.monotonic() - began, 1),
        "loss": round(mean, 4),
    }


def arguments() -> tuple[Settings, Shape]:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--start", type=Path, help="model file to go on from")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--conversations", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--row", type=int, default=288, help="tokens a row")
    parser.add_argument("--batch", type=int, default=12, help="rows a step")
    parser.add_argument("--rate", type=float, default=4e-3, help="peak learning rate")
    parser.add_argument("--decay", type=float, default=0.4, help="share of the run")
    parser.add_argument("--threads", type=int, default=1)
    defaults = asdict(Shape())
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    options = vars(parser.parse_args())
    shape = Shape(**{name: options.pop(name) for name in defaults})
    return Settings(**options), shape


def begin(settings: Settings, shape: Shape) -> tuple[Coach, Tokenizer]:
    """Return a new model and vocabulary, or those of the model file to continue from."""
    if settings.start is None:
        return Coach(shape), new_tokenizer(settings.seed, shape.vocabulary)
    return reopen(settings.start)


def stages_before(start: Path) -> list[object]:
    """Return the runs that produced the model file *start*."""
    stages: list[object] = json.loads(start.with_suffix(".json").read_text("utf-8"))["training"]
    return stages


def describe(settings: Settings, model: Coach, figures: dict[str, float]) -> str:
    """Return the JSON summary of the weights; `stages` lists the runs in order."""
    ours = {
        name: value
        for name, value in asdict(settings).items()
        if name not in ("out", "start", "threads")
    }
    earlier = stages_before(settings.start) if settings.start else []
    facts = {
        "shape": asdict(model.shape),
        "parameters": sum(p.numel() for p in model.parameters()),
        "stages": [*earlier, ours | figures],
    }
    return json.dumps(facts, indent=2) + "\n"


def main() -> None:
    """Train, then write the weights, the tokenizer and a summary."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    settings, shape = arguments()
    settings.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(settings.seed)
    torch.set_num_threads(settings.threads)
    model, tokenizer = begin(settings, shape)
    tokenizer.save(str(settings.out / "tokenizer.json"))
    (settings.out / SUMMARY).write_text(describe(settings, model, {}), "utf-8")
    figures = fit(model, build_corpus(settings, tokenizer), settings)
    torch.save(model.state_dict(), settings.out / WEIGHTS)
    (settings.out / SUMMARY).write_text(describe(settings, model, figures), "utf-8")
    LOG.info("done: %s", figures)


if __name__ == "__main__":
    main()
