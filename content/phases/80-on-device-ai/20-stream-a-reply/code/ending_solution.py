from itertools import pairwise


def ending(stream: list[tuple[float, str]]) -> str:
    """How a stream ended: stop, error or cut."""
    finished = False
    for _, event in stream:
        if event == "[DONE]":
            return "stop" if finished else "cut"
        record = json.loads(event)
        if "error" in record:
            return "error"
        choice = (record.get("choices") or [{}])[0]  # a usage frame has none
        if choice.get("finish_reason") == "stop":
            finished = not choice.get("truncated", False)
    return "cut"


def longest_gap_s(stream: list[tuple[float, str]]) -> float:
    """Longest wait between two pieces of content; 0 for fewer than two."""
    times = [at_s for at_s, event in stream if content_of(event)]
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


def usable(stream: list[tuple[float, str]]) -> str:
    """All of a finished reply; of any other only its complete sentences."""
    text = "".join(content_of(event) for _, event in stream)
    return text if ending(stream) == "stop" else text[: text.rfind(".") + 1]


print("stream   ending   first s   gap s   usable")
for name, stream in STREAMS.items():
    starts = [at_s for at_s, event in stream if content_of(event)]
    first = f"{starts[0]:.2f}" if starts else "none"
    row = f"{name:7}  {ending(stream):7}  {first:>7}   {longest_gap_s(stream):5.2f}"
    print(f"{row}   {usable(stream) or '(nothing)'}")
