"""Scores coach models on questions that their training never saw, one table for all of them.

    python -m training.coach.score --model data/models/paddock-coach.gguf --model OTHER.gguf

Our server answers, at temperature 0 on one thread.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from bench.common import ROOT, start_server

CASES: Final = Path(__file__).with_name("evaluation.jsonl")
HELD_OUT: Final = CASES.with_name("heldout.jsonl")  # never looked at while the corpus grew
OURS: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
REPLY_TOKENS: Final = 128
MOST_SENTENCES: Final = 3
MOST_WORDS: Final = 80

NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")
SENTENCE: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9+-])")
REFUSAL: Final = re.compile(
    r"only (?:know|coach|speak|understand|help)|outside my lap|cannot (?:help|answer|give)"
    r"|do not know (?:about|anything)|not (?:a doctor|something i can)|medical question"
    r"|legal (?:advice|question)|will not help|that is dangerous|did not understand"
    r"|nothing but driving|trained on driving|not sure about that",
    re.IGNORECASE,
)

Message = Mapping[str, str]
Chat = Callable[[Sequence[Message]], str]


class Case(BaseModel):
    """A conversation of user turns and what its last reply must and must not hold.

    `all` are texts and numbers that must occur, `any` groups of which one word must occur,
    `never` words that must not. Numbers that were not given are a fault unless `own_numbers`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    ability: str
    turns: tuple[str, ...]
    system: str = ""
    all: tuple[str, ...] = ()
    any: tuple[tuple[str, ...], ...] = ()
    never: tuple[str, ...] = ()
    refuse: bool = False
    own_numbers: bool = False


def read_cases(path: Path = CASES) -> list[Case]:
    """The evaluation set, one JSON object a line."""
    return [Case.model_validate_json(line) for line in path.read_text("utf-8").splitlines() if line]


def holds(text: str, wanted: str) -> bool:
    """Whether the text contains the word or number as a whole."""
    whole = re.escape(wanted.casefold())
    return re.search(rf"(?<!\w)(?<!\d[.:]){whole}(?!\w|[.:]\d)", text.casefold()) is not None


def faults(case: Case, reply: str) -> list[str]:
    """List the faults of a reply."""
    text = reply.casefold()
    problems = [f"lacks {wanted!r}" for wanted in case.all if not holds(reply, wanted)]
    problems += [f"lacks one of {group}" for group in case.any if not any(w in text for w in group)]
    problems += [f"says {word!r}" for word in case.never if word.casefold() in text]
    if case.refuse != bool(REFUSAL.search(reply)) and (case.refuse or case.ability != "identity"):
        problems.append("does not refuse" if case.refuse else "refuses")
    if not case.own_numbers:
        own = set(NUMBER.findall(" ".join((case.system, *case.turns))))
        foreign = [number for number in NUMBER.findall(reply) if number not in own]
        problems += [f"invents {number}" for number in foreign]
    return problems + unreadable(reply)


def unreadable(reply: str) -> list[str]:
    """List why the reply is not one to three plain sentences."""
    problems = []
    sentences = [text.strip() for text in SENTENCE.split(reply.strip()) if text.strip()]
    if not 1 <= len(sentences) <= MOST_SENTENCES:
        problems.append(f"{len(sentences)} sentences")
    if len(set(sentences)) < len(sentences):
        problems.append("repeats a sentence")
    if len(reply.split()) > MOST_WORDS:
        problems.append("too long")
    if not reply.strip().endswith((".", "?", "!")):
        problems.append("no end")
    return problems


def converse(case: Case, chat: Chat) -> str:
    """Play the turns of a case and return the last reply."""
    messages: list[Message] = [{"role": "system", "content": case.system}] if case.system else []
    reply = ""
    for turn in case.turns:
        messages.append({"role": "user", "content": turn})
        reply = chat(messages)
        messages.append({"role": "assistant", "content": reply})
    return reply


@contextmanager
def asking(model: Path) -> Iterator[Chat]:
    """Return a function that answers conversations with a GGUF file, greedily."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--port", "0", "--threads", "1", "--data-dir", folder)
        with start_server("runtime.llm", *flags, "--models-dir", str(model.parent)) as server:

            def chat(messages: Sequence[Message]) -> str:
                body = {"model": model.stem, "messages": messages, "temperature": 0}
                whole = body | {"max_completion_tokens": REPLY_TOKENS}
                answer = json.loads(server.post("/v1/chat/completions", whole))
                reply: str = answer["choices"][0]["message"]["content"]
                return reply.strip()

            yield chat


def judge(cases: Sequence[Case], chat: Chat) -> dict[str, tuple[str, list[str]]]:
    """Return the reply to each case and its faults, by the id of the case."""
    replies = {case.id: converse(case, chat) for case in cases}
    return {case.id: (replies[case.id], faults(case, replies[case.id])) for case in cases}


def table(cases: Sequence[Case], passed: Mapping[str, set[str]]) -> str:
    """Passed cases by ability as a Markdown table, a column for each model."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        groups.setdefault(case.ability, []).append(case.id)
    groups["all"] = [case.id for case in cases]
    rows = [["ability", "cases", *passed], ["---"] + ["---:"] * (len(passed) + 1)]
    for ability, ids in groups.items():
        counts = [len(good.intersection(ids)) for good in passed.values()]
        shares = [f"{count} ({100 * count / len(ids):.0f} %)" for count in counts]
        rows.append([ability, str(len(ids)), *shares])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(words: Sequence[str] | None = None) -> int:
    """Score the models and print the table; return 1 if a model file is missing."""
    parser = argparse.ArgumentParser(prog="python -m training.coach.score", description=__doc__)
    parser.add_argument("--model", type=Path, action="append", help="GGUF file, repeatable")
    parser.add_argument("--cases", type=Path, action="append", help="JSON lines, repeatable")
    parser.add_argument("--failures", action="store_true", help="print what went wrong")
    options = parser.parse_args(words)
    models: list[Path] = options.model or [OURS]
    for model in models:
        if not model.is_file():
            print(f"no such model file: {model}", file=sys.stderr)
            return 1
    for path in options.cases or (CASES, HELD_OUT):
        cases = read_cases(path)
        passed, seconds = {}, {}
        for model in models:
            began = time.monotonic()
            with asking(model.absolute()) as chat:
                replies = judge(cases, chat)
            seconds[model.stem] = time.monotonic() - began
            passed[model.stem] = {case for case, (_, wrong) in replies.items() if not wrong}
            for case, (reply, wrong) in replies.items():
                if wrong and options.failures:
                    print(f"{model.stem} {case}\n  {reply!r}\n  {wrong}")
        print(f"\n{path.name}\n\n{table(cases, passed)}\n")
        print("\n".join(f"{name}: {taken:.1f} s" for name, taken in seconds.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
