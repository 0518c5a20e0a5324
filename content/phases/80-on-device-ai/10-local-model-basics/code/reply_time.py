@dataclass(frozen=True)
class Device:
    """What a device really reaches, measured and not read from a data sheet."""

    name: str
    memory_bytes_per_s: float
    operations_per_s: float


def prefill_s(model: Model, device: Device, prompt_tokens: int) -> float:
    """Time to read the prompt: two operations per weight and token."""
    return 2 * model.parameters * prompt_tokens / device.operations_per_s


def decode_s(
    model: Model, device: Device, bits: float, prompt: int, reply: int
) -> float:
    """Time to write the reply: all weights and the cache are read per token."""
    weights = model.weight_bytes(bits)
    read = sum(weights + model.cache_bytes(prompt + n) for n in range(reply))
    return read / device.memory_bytes_per_s


LAPTOP = Device("laptop", memory_bytes_per_s=60e9, operations_per_s=600e9)
print("prompt  reply   prefill s   decode s   tokens/s")
for prompt, reply in ((900, 60), (900, 12), (120, 60)):
    reading = prefill_s(COACH, LAPTOP, prompt)
    writing = decode_s(COACH, LAPTOP, 4.5, prompt, reply)
    row = f"{prompt:6}  {reply:5}   {reading:9.2f}   {writing:8.2f}"
    print(f"{row}   {reply / writing:8.1f}")
