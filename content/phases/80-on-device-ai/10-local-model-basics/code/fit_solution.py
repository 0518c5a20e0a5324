def largest_context(model: Model, bits: float, step: int = 1_024) -> int:
    """Largest multiple of step whose cache fits; 0 when not even one step does."""
    room = LIMIT_BYTES - WORKING_BYTES - model.weight_bytes(bits)
    steps = int(room // model.cache_bytes(step))
    return max(0, steps) * step


for bits in (8.5, 4.5):
    print(f"{bits} bits: context {largest_context(COACH, bits):,} tokens")

first_s = prefill_s(COACH, PHONE, 500)
rest_s = decode_s(COACH, PHONE, 4.5, 500, 40)
print(f"500 tokens in: first token after {first_s:.1f} s")
print(f"40 tokens out: {rest_s:.1f} s more, {40 / rest_s:.1f} tokens/s")
short_s = prefill_s(COACH, PHONE, 80) + decode_s(COACH, PHONE, 4.5, 500, 12)
print(f"80 new tokens in, 12 out: {short_s:.1f} s in all")
