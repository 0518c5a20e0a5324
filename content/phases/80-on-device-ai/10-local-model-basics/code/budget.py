from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The shape of a language model, as its model card states it."""

    parameters: float
    layers: int
    kv_heads: int
    head_dim: int

    def weight_bytes(self, bits_per_weight: float) -> float:
        return self.parameters * bits_per_weight / 8

    def cache_bytes(self, tokens: int, bytes_per_value: int = 2) -> int:
        per_layer = 2 * self.kv_heads * self.head_dim  # one key and one value
        return self.layers * per_layer * bytes_per_value * tokens


COACH = Model(parameters=3.2e9, layers=28, kv_heads=8, head_dim=128)

print("weights        bits   GB")
for name, bits in (("16-bit", 16.0), ("8-bit blocks", 8.5), ("4-bit blocks", 4.5)):
    print(f"{name:13} {bits:5.1f}  {COACH.weight_bytes(bits) / 1e9:4.2f}")

print("context tokens   cache GB")
for tokens in (1_024, 4_096, 16_384):
    print(f"{tokens:14,}   {COACH.cache_bytes(tokens) / 1e9:8.2f}")
