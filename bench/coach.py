"""Scores coach models on questions that their training never saw, one table for all of them.

Run it from the project's folder:

    python -m bench.coach --model data/models/paddock-coach.gguf --model OTHER.gguf
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

ROOT: Final = Path(__file__).resolve().parent.parent
CASES: Final = ROOT / "training" / "coach" / "evaluation.jsonl"
HELD_OUT: Final = CASES.with_name("heldout.jsonl")  # never looked at while the corpus grew
OURS: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
CONTEXT_TOKENS: Final = 2048
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


@dataclass(frozen=True)
class Case:
    """A conversation of user turns and what its last reply must and must not hold.

    `all` are texts and numbers that must occur, `any` groups of which one word must occur,
    `never` words that must not. Numbers that were not given are a fault unless `own_numbers`.
    """

    id: str
    ability: str
    turns: tuple[str, ...]
    system: str = ""
    all: tuple[str, ...] = ()
    any: tuple[tuple[str, ...], ...] = ()
    never: tuple[str, ...] = ()
    refuse: bool = False
    own_numbers: bool = False


@dataclass
class Score:
    """What one model reached: cases by ability, passed ones and the faults of the others."""

    model: str
    cases: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    failed: list[tuple[Case, str, list[str]]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, case: Case, reply: str) -> None:
        """Judge the reply and count it."""
        found = faults(case, reply)
        self.cases[case.ability] = self.cases.get(case.ability, 0) + 1
        self.passed[case.ability] = self.passed.get(case.ability, 0) + (not found)
        if found:
            self.failed.append((case, reply, found))


def read_cases(path: Path = CASES) -> list[Case]:
    """The evaluation set, one JSON object a line."""
    return [_case(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def _case(row: Mapping[str, object]) -> Case:
    def words(key: str) -> tuple[str, ...]:
        return tuple(cast("list[str]", row.get(key, [])))

    groups = cast("list[list[str]]", row.get("any", []))
    return Case(
        id=str(row["id"]),
        ability=str(row["ability"]),
        turns=words("turns"),
        system=str(row.get("system", "")),
        all=words("all"),
        any=tuple(tuple(group) for group in groups),
        never=words("never"),
        refuse=bool(row.get("refuse", False)),
        own_numbers=bool(row.get("own_numbers", False)),
    )


def holds(text: str, wanted: str) -> bool:
    """Whether the text has the word or number, and not only as a part of a longer one."""
    whole = re.escape(wanted.casefold())
    return re.search(rf"(?<!\w)(?<!\d[.:]){whole}(?!\w|[.:]\d)", text.casefold()) is not None


def faults(case: Case, reply: str) -> list[str]:
    """What is wrong with the reply; empty when it is as it should be."""
    said = reply.casefold()
    found = [f"lacks {wanted!r}" for wanted in case.all if not holds(reply, wanted)]
    found += [f"lacks one of {group}" for group in case.any if not any(w in said for w in group)]
    found += [f"says {word!r}" for word in case.never if word.casefold() in said]
    if case.refuse != bool(REFUSAL.search(reply)) and (case.refuse or case.ability != "identity"):
        found.append("does not refuse" if case.refuse else "refuses")
    if not case.own_numbers:
        given = set(NUMBER.findall(" ".join((case.system, *case.turns))))
        foreign = [number for number in NUMBER.findall(reply) if number not in given]
        found += [f"invents {number}" for number in foreign]
    return found + unreadable(reply)


def unreadable(reply: str) -> list[str]:
    """What keeps the reply from being one to three plain sentences."""
    found = []
    sentences = [text.strip() for text in SENTENCE.split(reply.strip()) if text.strip()]
    if not 1 <= len(sentences) <= MOST_SENTENCES:
        found.append(f"{len(sentences)} sentences")
    if len(set(sentences)) < len(sentences):
        found.append("repeats a sentence")
    if len(reply.split()) > MOST_WORDS:
        found.append("too long")
    if not reply.strip().endswith((".", "?", "!")):
        found.append("no end")
    return found


def converse(case: Case, chat: Chat) -> str:
    """Play the turns of a case; gives the last reply."""
    messages: list[Message] = []
    if case.system:
        messages.append({"role": "system", "content": case.system})
    reply = ""
    for turn in case.turns:
        messages.append({"role": "user", "content": turn})
        reply = chat(messages)
        messages.append({"role": "assistant", "content": reply})
    return reply


def engine(model: Path) -> Chat:
    """Load a GGUF file; gives what answers a conversation with it, always the likeliest words."""
    from runtime.llm.engine.worker.native import (
        DECODED,
        Context,
        EngineError,
        Model,
        Sampler,
    )
    from runtime.llm.engine.worker.template import Template
    from runtime.llm.models import gguf

    loaded = Model(str(model), 0)
    context = Context(loaded, CONTEXT_TOKENS, threads=1, sequences=1)
    sampler = Sampler(temperature=0.0, top_k=0, top_p=1.0, seed=0)
    template = Template(gguf.read(model).chat_template or "", *loaded.special_texts)

    def chat(messages: Sequence[Message]) -> str:
        pairs = [(message["role"], message["content"]) for message in messages]
        prompt = loaded.tokenize(template.render(pairs).text, whole=True)
        context.clear_all()
        pending, at, said = prompt, 0, b""
        for _ in range(REPLY_TOKENS):
            for start in range(0, len(pending), context.n_batch):
                part = pending[start : start + context.n_batch]
                last = start + len(part) == len(pending)
                if context.decode(part, at, 0, last=last) != DECODED:
                    raise EngineError("the conversation does not fit into the context")
                at += len(part)
            token = sampler.sample(context)
            piece = loaded.piece(token)
            if piece is None:
                break
            said += piece
            pending = [token]
        return said.decode("utf-8", "replace").strip()

    return chat


def score(name: str, cases: Sequence[Case], chat: Chat) -> Score:
    """Ask everything and judge the replies."""
    result = Score(name)
    began = time.monotonic()
    for case in cases:
        result.add(case, converse(case, chat))
    result.seconds = time.monotonic() - began
    return result


def table(scores: Sequence[Score]) -> str:
    """Passed cases by ability as a Markdown table, a column for each model."""
    head = ["ability", "cases", *(score.model for score in scores)]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    first = scores[0]
    for ability, count in first.cases.items():
        cells = [_share(score.passed.get(ability, 0), count) for score in scores]
        rows.append([ability, str(count), *cells])
    total = sum(first.cases.values())
    cells = [_share(sum(score.passed.values()), total) for score in scores]
    rows.append(["all", str(total), *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _share(passed: int, cases: int) -> str:
    return f"{passed} ({100 * passed / cases:.0f} %)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the models and print the table; 1 when a model file is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, action="append", help="GGUF file, repeatable")
    parser.add_argument("--cases", type=Path, action="append", help="JSON lines, repeatable")
    parser.add_argument("--quick", action="store_true", help="the held-out questions only")
    parser.add_argument("--failures", action="store_true", help="print what went wrong")
    told = parser.parse_args(arguments)
    models: list[Path] = told.model or [OURS]
    missing = [model for model in models if not model.is_file()]
    if missing:
        print(f"no such model file: {missing[0]}", file=sys.stderr)
        return 1
    engines = {model.stem: engine(model) for model in models}
    for path in told.cases or ([HELD_OUT] if told.quick else [CASES, HELD_OUT]):
        cases = read_cases(path)
        scores = [score(name, cases, chat) for name, chat in engines.items()]
        if told.failures:
            report_failures(scores)
        print(f"\n{path.name}\n\n{table(scores)}\n")
        print("\n".join(f"{result.model}: {result.seconds:.1f} s" for result in scores))
    return 0


def report_failures(scores: Sequence[Score]) -> None:
    """Print each question that was not answered well, the reply and what is wrong with it."""
    for result in scores:
        for case, reply, found in result.failed:
            print(f"{result.model} {case.id} {' / '.join(case.turns)!r}\n  {reply!r}\n  {found}")


if __name__ == "__main__":
    sys.exit(main())
