"""Stage 4: streams are timed with a clock that is handed in."""

import json
import unittest
from collections.abc import Iterator

from latency import percentile, time_stream

ROLE = {"choices": [{"index": 0, "delta": {"role": "assistant"}}]}
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
BUDGET = {
    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "truncated": True}]
}


class Tape:
    """A recorded stream that moves its own clock while it is read."""

    def __init__(self, *frames: tuple[float, object]) -> None:
        self.now_s = 100.0
        self.frames = frames

    def clock(self) -> float:
        return self.now_s

    def lines(self) -> Iterator[bytes]:
        for at_s, frame in self.frames:
            self.now_s = 100.0 + at_s
            text = frame if isinstance(frame, str) else json.dumps(frame)
            yield f"data: {text}\n".encode()
            yield b"\n"
            yield b": ka\n"


def word(text: str) -> dict[str, object]:
    """A frame with content."""
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


class LatencyTest(unittest.TestCase):
    def test_the_role_frame_is_not_the_first_token(self) -> None:
        words = (1.5, word("80 ")), (1.6, word("°C"))
        tape = Tape((0.1, ROLE), *words, (1.7, STOP), (1.7, "[DONE]"))
        reply = time_stream(tape.lines(), tape.clock)
        self.assertEqual((reply.text, reply.tokens), ("80 °C", 2))
        self.assertAlmostEqual(reply.first_token_s, 1.5)

    def test_the_rate_counts_intervals(self) -> None:
        words = [(2.0 + 0.1 * i, word("x")) for i in range(11)]
        tape = Tape(*words, (3.0, STOP), (3.0, "[DONE]"))
        reply = time_stream(tape.lines(), tape.clock)
        self.assertAlmostEqual(reply.tokens_per_s or 0.0, 10.0)

    def test_one_token_has_no_rate(self) -> None:
        tape = Tape((0.5, word("Yes.")), (0.5, STOP), (0.5, "[DONE]"))
        self.assertIsNone(time_stream(tape.lines(), tape.clock).tokens_per_s)

    def test_a_stream_that_ends_badly_is_an_error(self) -> None:
        error = {"error": {"message": "too slow", "type": "timeout", "code": 408}}
        for tape in (
            Tape((0.5, word("Do")), (0.6, word(" not"))),
            Tape((0.5, word("Do")), (0.6, error), (0.6, "[DONE]")),
            Tape((0.5, ROLE), (0.6, STOP), (0.6, "[DONE]")),
            Tape((0.5, word("Do")), (0.6, word(" not")), (0.6, STOP)),
            Tape(
                (0.5, word("Do")), (0.6, word(" not")), (0.7, BUDGET), (0.7, "[DONE]")
            ),
        ):
            with self.assertRaises(ValueError):
                time_stream(tape.lines(), tape.clock)

    def test_percentiles_are_values_that_were_measured(self) -> None:
        values = [float(i) for i in range(20, 0, -1)]
        self.assertEqual(percentile(values, 50), 10.0)
        self.assertEqual(percentile(values, 95), 19.0)
        self.assertEqual(percentile([3.0], 95), 3.0)
        with self.assertRaises(ValueError):
            percentile([], 50)


if __name__ == "__main__":
    unittest.main()
