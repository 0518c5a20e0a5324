VOCAB = ["brake", " later", " at", " turn", " in", "ing", " the", " ", "1", "2", "T"]


def tokenise(text: str, vocab: list[str]) -> list[str]:
    """Cut text into the longest known pieces, from left to right."""
    by_length = sorted(vocab, key=len, reverse=True)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        known = (piece for piece in by_length if text.startswith(piece, at))
        piece = next(known, text[at])  # an unknown character is its own token
        pieces.append(piece)
        at += len(piece)
    return pieces


for text in ("brake later at turn in", "braking at T12", "freine plus tard"):
    pieces = tokenise(text, VOCAB)
    print(f"{len(text):2} characters, {len(pieces):2} tokens:", "|".join(pieces))
