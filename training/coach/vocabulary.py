"""Trains the byte-level BPE vocabulary and turns conversations into weighted tokens."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from training.coach.corpus.dialogue import Message, chatml
from training.coach.shape import END, SPECIAL, START

# Digits one by one, so that numbers can be copied; llama.cpp calls this split "smollm".
PRE_TOKENIZER: Final = "smollm"


@dataclass(frozen=True)
class Vocabulary:
    """What a GGUF file needs: the tokens in order and the merges as pairs joined by a space."""

    tokens: tuple[str, ...]
    merges: tuple[str, ...]


def train(conversations: Iterable[Sequence[Message]], size: int) -> Tokenizer:
    """A tokenizer of *size* tokens, special ones first."""
    tokenizer = _tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (message.role + "\n" + message.content for talk in conversations for message in talk)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _tokenizer(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def restore(tokens: Sequence[str], merges: Sequence[str]) -> Tokenizer:
    """The tokenizer whose `vocabulary` this is."""
    numbers = {token: number for number, token in enumerate(tokens)}
    first, second = zip(*(merge.split(" ") for merge in merges), strict=True)
    tokenizer = _tokenizer(models.BPE(numbers, list(zip(first, second, strict=True))))
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    """Tokens and merges as a GGUF file lists them."""
    stored = json.loads(tokenizer.to_str())
    ids: dict[str, int] = stored["model"]["vocab"] | {
        entry["content"]: entry["id"] for entry in stored["added_tokens"]
    }
    tokens = sorted(ids, key=ids.__getitem__)
    merges = (
        merge if isinstance(merge, str) else " ".join(merge) for merge in stored["model"]["merges"]
    )
    return Vocabulary(tuple(tokens), tuple(merges))


@dataclass(frozen=True)
class Encoded:
    """Tokens of a conversation, and for each one whether the model is to learn to write it."""

    ids: list[int]
    taught: list[bool]


def encode(tokenizer: Tokenizer, conversations: Iterable[Sequence[Message]]) -> Iterator[Encoded]:
    """The conversations in ChatML; only the words of the assistant and their end are taught."""
    start, end = _id(tokenizer, START), _id(tokenizer, END)
    head: list[int] = [start, *tokenizer.encode("assistant\n").ids]
    texts = [chatml(messages) for messages in conversations]
    for encoding in tokenizer.encode_batch(texts):
        ids: list[int] = encoding.ids
        yield Encoded(ids, taught(ids, head, end))


def taught(ids: Sequence[int], head: Sequence[int], end: int) -> list[bool]:
    """Marks what follows each *head*, up to and with the next *end*."""
    marks = [False] * len(ids)
    inside = False
    for at, token in enumerate(ids):
        marks[at] = inside
        if token == end:
            inside = False
        elif token == head[-1] and list(ids[at + 1 - len(head) : at + 1]) == list(head):
            inside = True
    return marks


def _id(tokenizer: Tokenizer, token: str) -> int:
    """The number of a token that the vocabulary has."""
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the vocabulary has no {token}")
    return number
