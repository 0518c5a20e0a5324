"""Log lines: one JSON object each, without secrets, without blocking."""

import io
import json
import logging
import time

import pytest

from runtime.web import logs
from runtime.web.logs import JsonLines, Throttle, logging_to, scrub

LOG = logging.getLogger("tests.logs")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_one_line_of_ascii(stream: io.StringIO) -> None:
    with logging_to(stream):
        LOG.info("héllo %s", "\r\nFORGED", extra={"fields": {"n": 1, "message": "no"}})
    (line,) = lines(stream)
    assert stream.getvalue().isascii()
    assert stream.getvalue().count("\n") == 1
    assert line["message"] == "héllo \r\nFORGED"
    assert (line["level"], line["logger"], line["n"]) == ("info", "tests.logs", 1)
    assert str(line["time"]).endswith("Z")


def test_records_below_the_level_are_dropped_and_the_level_is_restored(
    stream: io.StringIO,
) -> None:
    before = logging.getLogger().level
    with logging_to(stream, "warning"):
        LOG.info("no")
        LOG.warning("yes")
    assert [line["message"] for line in lines(stream)] == ["yes"]
    assert logging.getLogger().level == before


def test_a_line_carries_the_id_of_its_request(stream: io.StringIO) -> None:
    with logging_to(stream):
        token = logs.request_id.set("17")
        LOG.info("inside")
        logs.request_id.reset(token)
        LOG.info("outside")
    assert [line.get("request_id") for line in lines(stream)] == ["17", None]


def test_a_trace_stays_on_its_line(stream: io.StringIO) -> None:
    with logging_to(stream):
        try:
            raise ValueError("token=abc broke")
        except ValueError:
            LOG.exception("failed")
    (line,) = lines(stream)
    assert "ValueError: token=*** broke" in str(line["trace"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/x?token=abc", "/x?token=***"),
        ("/x?a=1&TOKEN=abc&b=2", "/x?a=1&TOKEN=***&b=2"),
        ("/x?key=a&api_key=b;secret=c", "/x?key=***&api_key=***;secret=***"),
        ("GET /x?token=a%20b HTTP/1.1", "GET /x?token=*** HTTP/1.1"),
        ("/x?monkey=1&tokens=2", "/x?monkey=1&tokens=2"),
        ("/x?token=", "/x?token=***"),
        ("nothing", "nothing"),
    ],
)
def test_secret_parameters_are_scrubbed(text: str, expected: str) -> None:
    assert scrub(text) == expected


def test_scrubbing_a_long_line_is_quick() -> None:
    started = time.process_time()
    scrub("&token" * 20_000)
    scrub("?key=" * 20_000)
    assert time.process_time() - started < 1


def formatted(message: str, *args: object, **extra: object) -> dict[str, object]:
    record = LOG.makeRecord("a", logging.INFO, "f", 1, message, args, None, extra=extra)
    line: dict[str, object] = json.loads(JsonLines().format(record))
    return line


@pytest.mark.parametrize(
    ("message", "args"), [("%d and %d", ("one",)), ("%(name)s", ({"x": 1},)), ("%d", ("x",))]
)
def test_arguments_that_do_not_fit_lose_no_line(message: str, args: tuple[object, ...]) -> None:
    assert formatted(message, *args)["message"] == message


def test_a_field_that_is_no_json_is_shown_as_text() -> None:
    assert formatted("m", fields={"size": 2j})["size"] == "2j"


def test_a_huge_message_is_cut() -> None:
    record = LOG.makeRecord("a", logging.INFO, "f", 1, "x" * 100_000, (), None)
    assert len(JsonLines().format(record)) < 20_000


class Stuck(io.StringIO):
    """A standard error whose other end does not read."""

    def write(self, text: str) -> int:
        time.sleep(60)
        return 0


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("stream", [Stuck(), Gone()], ids=["stuck", "gone"])
def test_a_broken_standard_error_holds_nobody_up(stream: io.StringIO) -> None:
    started = time.monotonic()
    with logging_to(stream):
        for n in range(10_000):
            LOG.info("line %d", n)
    assert time.monotonic() - started < 30  # the stuck one alone would take days


def test_a_throttle_lets_a_burst_pass_and_says_what_it_held_back() -> None:
    now = [0.0]
    throttle = Throttle(per_s=1, burst=3, clock=lambda: now[0])

    def passes() -> str | None:
        record = LOG.makeRecord("a", logging.INFO, "f", 1, "bad %d", (7,), None)
        return record.getMessage() if throttle.filter(record) else None

    assert [passes() for _ in range(5)] == ["bad 7"] * 3 + [None, None]
    now[0] = 1.5
    assert passes() == "bad 7 (and 2 like it)"
    assert passes() is None
