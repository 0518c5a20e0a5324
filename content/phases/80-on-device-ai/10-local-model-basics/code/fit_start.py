PHONE = Device("phone", memory_bytes_per_s=40e9, operations_per_s=200e9)
LIMIT_BYTES = 3.0e9  # what the system lets one app keep in memory
WORKING_BYTES = 0.4e9  # buffers for the computation itself


def largest_context(model: Model, bits: float, step: int = 1_024) -> int:
    """Largest multiple of step whose cache fits; 0 when not even one step does."""
    return step if model.weight_bytes(bits) + WORKING_BYTES < LIMIT_BYTES else 0


for bits in (8.5, 4.5):
    print(f"{bits} bits: context {largest_context(COACH, bits):,} tokens")
