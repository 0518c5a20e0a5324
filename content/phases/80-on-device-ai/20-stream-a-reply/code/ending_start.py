TIMEOUT = {"error": {"message": "too slow", "type": "timeout", "code": 408}}
STREAMS = {
    "first": [
        (0.90, frame({"content": "Look"})),
        (0.95, frame({"content": " further"})),
        (1.40, frame({"content": " ahead"})),
        (1.44, frame({}, finish_reason="stop")),
        (1.44, "[DONE]"),
    ],
    "second": [
        (0.80, frame({"content": "Brake at 90 m."})),
        (0.84, frame({"content": " Then"})),
        (9.00, json.dumps(TIMEOUT)),
        (9.00, "[DONE]"),
    ],
    "third": [(0.70, frame({"content": "Do"})), (0.75, frame({"content": " not"}))],
    "fourth": [(5.00, json.dumps(TIMEOUT)), (5.00, "[DONE]")],
    "fifth": [
        (0.85, frame({"content": "Brake later."})),
        (0.89, frame({"content": " Release"})),
        (0.93, frame({}, finish_reason="stop", truncated=True)),
        (0.93, "[DONE]"),
    ],
}


def ending(stream: list[tuple[float, str]]) -> str:
    """How a stream ended: stop, error or cut."""
    return "stop" if stream[-1][1] == "[DONE]" else "cut"


for name, stream in STREAMS.items():
    print(f"{name:7} {ending(stream)}")
