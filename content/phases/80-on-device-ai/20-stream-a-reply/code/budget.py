def heard_s(first_token_s: float, tokens_per_s: float, needed: int) -> float:
    """Time at which the needed number of tokens has arrived."""
    return first_token_s + (needed - 1) / tokens_per_s


print("first token   rate   12 tokens   60 tokens")
for first_token_s, tokens_per_s in ((1.24, 25.0), (1.24, 50.0), (0.62, 25.0)):
    sentence = heard_s(first_token_s, tokens_per_s, 12)
    reply = heard_s(first_token_s, tokens_per_s, 60)
    row = f"{first_token_s:9.2f} s   {tokens_per_s:4.0f}"
    print(f"{row}   {sentence:7.2f} s   {reply:7.2f} s")
