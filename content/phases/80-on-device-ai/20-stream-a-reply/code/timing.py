import json


def content_of(event: str) -> str:
    """Text that an event adds to the reply; empty for all other events."""
    if event == "[DONE]":
        return ""
    choices = json.loads(event).get("choices", [])
    return choices[0]["delta"].get("content", "") if choices else ""


def frame(delta: dict[str, str], **more: str | bool) -> str:
    """One event as the server sends it, for the recording below."""
    return json.dumps({"choices": [{"index": 0, "delta": delta, **more}]})


WORDS = "Brake| at| the| 90| m| board|,| then| let| the| pedal| up|."
recording = [(0.020, frame({"role": "assistant"}))]
for number, word in enumerate(WORDS.split("|")):
    recording.append((1.240 + 0.040 * number, frame({"content": word})))
recording.append((1.722, frame({}, finish_reason="stop")))
recording.append((1.723, "[DONE]"))

times = [at_s for at_s, event in recording if content_of(event)]
first_s, last_s, count = times[0], times[-1], len(times)
rate = (count - 1) / (last_s - first_s)
print(f"first frame     {recording[0][0]:.2f} s")
print(f"first token     {first_s:.2f} s")
print(f"last token      {last_s:.2f} s, {count} tokens")
print(f"rate            {rate:.1f} tokens/s")
print(f"count / total   {count / last_s:.1f} tokens/s, which mixes two things")
