INSIDE = {
    "Where do I brake for turn 3?": "turn-3",
    "Where is the apex of turn 5?": "turn-5",
    "How many litres for one lap?": "fuel",
    "What pressure is right in hot tyres?": "tyres",
    "What does a yellow flag mean?": "flags",
    "How do I deal with the descent?": "turn-5",
}
OUTSIDE = ["Who won the race in 1966?", "What should I eat before driving?"]


def hit_rate(k: int) -> float:
    """Share of the questions whose right note is among the best k chunks."""
    hits = [search(q, 1)[0][1].source == right for q, right in INSIDE.items()]
    return sum(hits) / len(hits)


print(f"hit rate at 1: {hit_rate(1):.2f}")
