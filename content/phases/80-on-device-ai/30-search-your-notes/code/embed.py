import re
from zlib import crc32

SIZE = 512
SMALL_WORDS = "a an and at do for how i in is it of on the to too what when with"
COMMON = frozenset(SMALL_WORDS.split())


def features(text: str) -> list[str]:
    """Words that matter, and their groups of four letters."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in COMMON]
    groups = [w[i : i + 4] for w in words for i in range(len(w) - 3)]
    return words + ["#" + group for group in groups]


def embed(text: str) -> list[float]:
    """Return a vector of length 1; text without a feature gives zeros."""
    vector = [0.0] * SIZE
    for feature in features(text):
        code = crc32(feature.encode())
        vector[code % SIZE] += 1.0 if code & 0x8000_0000 else -1.0
    length = sqrt(dot(vector, vector))
    return [entry / length for entry in vector] if length else vector


TOPIC = "Brake earlier when the road falls."
for other in (
    "Braking early on falling roads",
    "Check the tyre pressure",
    "Slow down sooner on a descent",
):
    print(f"{dot(embed(TOPIC), embed(other)):5.2f}  {other}")
