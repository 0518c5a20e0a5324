from collections.abc import Iterable, Iterator


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the data of each complete event, however the bytes were cut."""
    waiting = b""
    data: list[str] = []
    for chunk in chunks:
        waiting += chunk
        *lines, waiting = waiting.split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8").removesuffix("\r")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif line == "" and data:
                yield "\n".join(data)
                data = []


CHUNKS = [
    b'data: {"choices": [{"index": 0, "delta": {"role": "assi',
    b'stant"}}]}\n\n: ka\n\ndata: {"choices": [{"index": 0, "del',
    b'ta": {"content": "Tyres at 80 \xc2',
    b'\xb0C."}}]}\n\ndata: {"choices": [{"index": 0, "delta": {}, ',
    b'"finish_reason": "stop"}]}\n\ndata: [DONE]\n',
    b"\n",
]
print(len(CHUNKS), "chunks")
for event in events(CHUNKS):
    print(event)
