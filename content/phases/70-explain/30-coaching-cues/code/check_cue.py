"""Find what keeps a cue from being useful in the car."""

MOST_WORDS = 8
ACTIONS = {"brake", "release", "turn", "look", "wait", "open", "hold", "stay"}
NEGATIONS = {"not", "don't", "never", "less", "stop"}
REASONS = {"because", "since"}
PLACES = {"board", "kerb", "apex", "exit", "crest", "marshal", "bridge"}


def problems(cue: str) -> list[str]:
    """Problems of a cue in the order in which a driver would meet them."""
    words = cue.lower().replace(",", "").split()
    found = []
    if len(words) > MOST_WORDS:
        found.append(f"{len(words)} words")
    if words[0] not in ACTIONS:
        found.append("no action first")
    if NEGATIONS & set(words):
        found.append("says what not to do")
    if sum(word in ACTIONS for word in words) > 1:
        found.append("two things")
    if REASONS & set(words):
        found.append("why belongs in the debrief")
    if not PLACES & set(words):
        found.append("no place")
    return found


for cue in (
    "You lost two tenths at the exit of turn one",
    "Don't brake so late, look ahead",
    "Brake earlier because the exit suffers",
    "Brake at the marshal post, open at the kerb",
    "Brake at the marshal post",
):
    print(cue)
    print("   ", ", ".join(problems(cue)) or "good")
