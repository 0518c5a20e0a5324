"""Questions about lap times and sectors; replies copy numbers and neither compute nor rank them."""

import random
from typing import Final

from training.coach.corpus import data, grammar, values
from training.coach.corpus.exchange import Exchange, ask, dress, pick

STYLES: Final = ("clock", "clock", "clock", "tenths", "seconds")


def _gap(rng: random.Random, least: float = 0.0, most: float = 5.0) -> str:
    digits = rng.choice((1, 2, 3))
    return f"{max(rng.uniform(least, most), 10**-digits):.{digits}f}"


def _reply(group: str, phrase: str, advice: str, slots: dict[str, str], rng: random.Random) -> str:
    body = pick(data.texts("laps", group, phrase), rng)
    body += " " + pick(data.texts("laps", group, advice), rng)
    return dress(grammar.fill(body, slots), rng, closing=False)


def compare(rng: random.Random) -> Exchange:
    """A last lap compared with the best one."""
    style = rng.choice(STYLES)
    best = values.lap_seconds(rng)
    step = rng.choice((rng.uniform(0.1, 0.9), rng.uniform(0.1, 3), rng.uniform(1, 12)))
    kind = rng.choices(("slower", "faster", "equal"), (6, 4, 1))[0]
    last = best + {"slower": step, "faster": -step, "equal": 0.0}[kind]
    slots = {
        "last": values.lap_text(last, style),
        "best": values.lap_text(best, style),
        "n": str(rng.randint(1, 40)),
    }
    prompt, _ = ask(rng.choice(data.texts("laps", "compare", "ask")), slots, rng)
    reply = _reply("compare", "reply", "advice", slots, rng)
    return Exchange("laps", prompt, reply, "go_faster")


def gap(rng: random.Random) -> Exchange:
    """A given difference to a better lap, or a given gain."""
    group = rng.choice(("gap", "gap", "gain"))
    slots = {"gap": _gap(rng)}
    prompt, _ = ask(rng.choice(data.texts("laps", group, "ask")), slots, rng)
    return Exchange("laps", prompt, _reply(group, "reply", "advice", slots, rng), "go_faster")


def three(rng: random.Random) -> Exchange:
    """Last lap, best lap and the difference between them, all given."""
    best = round(values.lap_seconds(rng), 1)
    gap_s = round(rng.uniform(0.1, 6), 1)
    slots = {
        "last": values.lap_text(best + gap_s, "tenths"),
        "best": values.lap_text(best, "tenths"),
        "gap": f"{gap_s:.1f}",
    }
    prompt, _ = ask(rng.choice(data.texts("laps", "three", "ask")), slots, rng)
    body = pick(data.texts("laps", "three", "reply"), rng)
    body += " " + pick(data.texts("laps", "compare", "advice"), rng)
    return Exchange("laps", prompt, grammar.tidy(grammar.fill(body, slots)), "go_faster")


def sectors(rng: random.Random) -> Exchange:
    """Three sectors with their deltas, one of them clearly the worst."""
    worst = rng.randint(1, 3)
    deltas = [
        rng.uniform(0.3, 1.9) if k == worst else rng.uniform(-0.15, 0.15) for k in range(1, 4)
    ]
    digits = rng.choice((1, 2, 3))
    written = [f"{delta:+.{digits}f}" for delta in deltas]
    times = [f"{rng.uniform(15, 60):.{digits}f}" for _ in deltas]
    name = rng.choice(("S{}", "sector {}", "Sector {}", "s{}", "sector_{}"))
    form = rng.choice(("{k} {t} ({d})", "{k} {d}", "{k}: {d} s", "{k}={d}", "{k} {t} {d}"))
    parts = [
        form.format(k=name.format(k), t=t, d=d)
        for k, (t, d) in enumerate(zip(times, written, strict=True), 1)
    ]
    if rng.random() < 0.15:
        parts = written  # their order says which is which
    body = rng.choice(
        ("", "Sectors: ", "My sectors: ", "Deltas: ", "delta to best: ")[parts is written :]
    )
    body += rng.choice((", ", "; ", " ", " / ")).join(parts)
    body += rng.choice(("", "", ". Where do I lose time?", ". Which one is worst?", "?", "."))
    slots = {"d": written[worst - 1]}
    return Exchange("laps", body, _reply("sectors", "reply", "advice", slots, rng), "go_faster")


def series(rng: random.Random) -> Exchange:
    """Several laps in a row, clearly close together or clearly spread out."""
    style = rng.choice(("clock", "tenths", "tenths", "seconds"))
    base = values.lap_seconds(rng)
    close = rng.random() < 0.5
    width = 0.15 if close else rng.uniform(2.0, 5.0)
    laps = [base + rng.uniform(-width, width) for _ in range(rng.randint(3, 7))]
    if not close:
        laps[rng.randrange(len(laps))] = base + width
        laps[rng.randrange(len(laps))] = base - width
    written = [values.lap_text(lap, style) for lap in laps]
    slots = {
        "list": rng.choice((", ", " ", "; ")).join(written),
        "first": written[0],
        "final": written[-1],
    }
    prompt, _ = ask(rng.choice(data.texts("laps", "series", "ask")), slots, rng)
    return Exchange("laps", prompt, _reply("series", "reply", "advice", slots, rng), "consistency")


def single(rng: random.Random) -> Exchange:
    """A single lap time."""
    time = values.lap_text(values.lap_seconds(rng), rng.choice(STYLES))
    slots = {"last": time, "best": time, "t": time, "n": str(rng.randint(1, 40))}
    prompt, _ = ask(rng.choice(data.texts("laps", "single", "ask")), slots, rng)
    return Exchange("laps", prompt, _reply("single", "reply", "advice", slots, rng), "go_faster")


def sheet(rng: random.Random) -> Exchange:
    """The facts of a session as a bridge writes them, with a question."""
    weak, strong = values.corner(rng), values.corner(rng)
    best = values.lap_text(values.lap_seconds(rng), rng.choice(("clock", "clock", "seconds")))
    both = rng.random() < 0.7
    facts = [
        rng.choice(("track {}", "track: {}", "Track: {}")).format(values.make_up_word(rng)),
        rng.choice(("laps {}", "laps: {}", "{} laps", "lap count {}")).format(rng.randint(2, 40)),
        rng.choice(("best lap {}", "best lap: {}", "Best: {}", "best {}")).format(best),
        rng.choice(
            ("weakest corner {}", "weakest corner: {}", "most time lost in {}", "weak: {}")
        ).format(weak),
    ]
    if both:
        facts.append(
            rng.choice(("strongest corner {}", "best corner: {}", "strong: {}")).format(strong)
        )
    kept = [fact for fact in facts[:2] if rng.random() < 0.7] + facts[2:]
    rng.shuffle(kept)
    head = rng.choice(("Facts: ", "Session facts: ", "Session: ", "", "Fact sheet\n", "Summary: "))
    body = head + rng.choice(("; ", ", ", "\n", ". ", "\n- ")).join(kept)
    question = pick(data.texts("laps", "sheet", "question"), rng)
    body += rng.choice((". ", "\n", "\n\n", ". Question: ", "\nQuestion: ")) + question
    replies = data.texts("laps", "sheet", "reply" if both else "reply_weak")
    reply = grammar.fill(pick(replies, rng), {"best": best, "weak": weak, "strong": strong})
    return Exchange("laps", body, grammar.tidy(reply), "go_faster", weak)


KINDS: Final = {compare: 6, gap: 3, three: 2, sectors: 3, series: 3, single: 3, sheet: 4}


def about_laps(rng: random.Random) -> Exchange:
    """One of the questions of this module."""
    return rng.choices(list(KINDS), list(KINDS.values()))[0](rng)
