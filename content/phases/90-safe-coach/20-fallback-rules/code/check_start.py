import re

# What is known of two corners, each number with its unit.
KNOWN = {
    "T1": {("s", 0.23), ("m", 11.0), ("laps", 4.0)},
    "T3": {("s", 0.29), ("laps", 4.0)},
}
REPLY = (
    "T1 costs you 0.23 s. "
    "You brake 11 m late there. "
    "T3 costs you 0.32 s. "
    "You brake 11 m late in T3. "
    "The front tyres are too cold. "
    "T1 was the same on all 4 laps."
)
NUMBER = re.compile(r"(\d+(?:\.\d+)?) (s|m|laps)\b")


def is_grounded(sentence: str, _corner: str) -> bool:
    """Whether every number of the sentence is known, of whichever corner."""
    known = set().union(*KNOWN.values())
    return all((unit, float(n)) in known for n, unit in NUMBER.findall(sentence))


def checked(reply: str) -> tuple[list[str], list[str]]:
    """The sentences of a reply that are kept, and those that are dropped."""
    kept, dropped, corner = [], [], ""
    for sentence in re.split(r"(?<=\.)\s+", reply):
        named = re.findall(r"\bT\d+\b", sentence)
        corner = named[-1] if named else corner
        (kept if is_grounded(sentence, corner) else dropped).append(sentence)
    return kept, dropped


kept, dropped = checked(REPLY)
print(f"kept {len(kept)}, dropped {len(dropped)}: {' '.join(dropped)}")
