from typing import NamedTuple

NOTES = {
    "turn-3": "Brake at the 90 m board. The pedal is up before the kerb begins.",
    "turn-5": "The road falls 6 m before turn 5. Brake 15 m earlier than it feels. "
    "Look past the tree to find the apex, which is late and hidden. "
    "In the wet, stay off the painted kerb at the exit.",
    "tyres": "Start with 1.8 bar cold. After three laps the pressure is 2.1 bar. "
    "Above 2.3 bar hot the rear slides at the exit of slow turns.",
    "flags": "A yellow flag means slow down and no overtaking.",
    "fuel": "One lap needs 2.4 litres. Below 10 litres the engine cuts in turn 8.",
}


class Chunk(NamedTuple):
    source: str
    text: str
    vector: list[float]


def chunks(text: str, limit: int = 110) -> list[str]:
    """Join sentences up to the limit; a sentence is never cut."""
    parts: list[str] = []
    for sentence in re.split(r"(?<=\.)\s+", text):
        if parts and len(parts[-1]) + 1 + len(sentence) <= limit:
            parts[-1] += " " + sentence
        else:
            parts.append(sentence)
    return parts


STORE = [Chunk(s, c, embed(c)) for s, text in NOTES.items() for c in chunks(text)]


def search(question: str, k: int) -> list[tuple[float, Chunk]]:
    """The k best chunks with their scores, best first, ties by place."""
    vector = embed(question)
    scored = [(dot(vector, chunk.vector), chunk) for chunk in STORE]
    return sorted(scored, key=lambda pair: -pair[0])[:k]


print(len(NOTES), "notes,", len(STORE), "chunks")
for score, chunk in search("What pressure in a cold tyre?", 3):
    print(f"{score:5.2f}  {chunk.source:7} {chunk.text}")
