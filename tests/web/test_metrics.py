"""Metrics as text."""

import pytest

from runtime.web.metrics import Counts, Family, Sample, counter, gauge, number, render, to_samples


def test_families_keep_their_order_and_labels_theirs() -> None:
    text = render(
        [
            counter("b_total", "B so far", 3),
            Family("a", "gauge", "A now", to_samples([({"z": "1", "y": "2"}, 0.5)])),
            gauge("up", "Alive", True),
        ]
    )
    assert text == (
        "# HELP b_total B so far\n# TYPE b_total counter\nb_total 3\n"
        '# HELP a A now\n# TYPE a gauge\na{z="1",y="2"} 0.5\n'
        "# HELP up Alive\n# TYPE up gauge\nup 1\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12, "12"),
        (12.0, "12"),
        (1e15, "1000000000000000"),
        (0.1234567, "0.123457"),
        (0.5, "0.5"),
        (1e-9, "0"),
        (-2.5, "-2.5"),
        (-0.0, "0"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_have_no_exponent_and_at_most_six_decimals(value: float, text: str) -> None:
    assert number(value) == text


def test_labels_cannot_break_out_of_their_line() -> None:
    sample = Sample(1, (("client", 'a"} 9\nb \\ \r'),))
    text = render([Family("m", "gauge", "one\ntwo \\ three", (sample,))])
    assert text.splitlines() == [
        "# HELP m one\\ntwo \\\\ three",
        "# TYPE m gauge",
        'm{client="a\\"} 9\\nb \\\\ \\n"} 1',
    ]


def test_a_histogram_counts_upwards() -> None:
    counts = Counts.empty([0.1, 1.0])
    for value in (0.05, 0.1, 0.5, 7):
        counts = counts.observe(value)
    text = render([Family("t_seconds", "histogram", "Time", counts.samples())])
    assert text.splitlines()[2:] == [
        't_seconds_bucket{le="0.1"} 2',
        't_seconds_bucket{le="1"} 3',
        't_seconds_bucket{le="+Inf"} 4',
        "t_seconds_sum 7.65",
        "t_seconds_count 4",
    ]
