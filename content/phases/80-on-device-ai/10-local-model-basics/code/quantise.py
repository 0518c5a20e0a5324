def quantise(weights: list[float], bits: int) -> tuple[float, list[int]]:
    """Return one scale for the block and a small integer for each weight."""
    top = 2 ** (bits - 1) - 1  # 7 for 4 bits, 127 for 8 bits
    scale = max(abs(weight) for weight in weights) / top
    return scale, [round(weight / scale) for weight in weights]


def worst_error(weights: list[float], scale: float, levels: list[int]) -> float:
    """Largest distance between a weight and its restored value."""
    pairs = zip(weights, levels, strict=True)
    return max(abs(weight - scale * level) for weight, level in pairs)


block = [0.021, -0.140, 0.067, 0.003, -0.052, 0.098, -0.011, 0.119]
print("bits   scale     worst error   levels")
for bits in (8, 4):
    scale, levels = quantise(block, bits)
    error = worst_error(block, scale, levels)
    print(f"{bits:4}   {scale:.5f}   {error:11.5f}   {levels}")
