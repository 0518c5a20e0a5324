"""The measurements: every script starts, and the lessons they build are valid and always equal."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from bench.__main__ import NAMES, main
from bench.common import ROOT, Figure, percentiles, run
from bench.course import measure
from bench.lessons import make_lessons


@pytest.mark.parametrize("name", NAMES)
def test_every_measurement_can_be_started(name: str) -> None:
    assert callable(import_module(f"bench.{name}").figures)


def test_the_table_says_how_many_times_better_ours_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        Figure("cold build", "s", 2.0, "another", 5.0),
        Figure("read", "rows/s", 12_345.6, "another", 49_382.4),
        Figure("alone", "ms", 0.0123),
    ]
    monkeypatch.setattr("bench.vbo.figures", lambda: iter(rows))
    monkeypatch.setattr("bench.lake.figures", broken)
    monkeypatch.setattr(sys, "argv", ["", "lake", "vbo"])
    assert main() == 1, "one failed, and the other was measured"
    printed = capsys.readouterr()
    assert printed.out.splitlines()[2:5] == [
        "| vbo: cold build, s | 2 | another: 5 | 2.50 |",
        "| vbo: read, rows/s | 12,346 | another: 49,382 | 0.25 |",
        "| vbo: alone, ms | 0.0123 |  |  |",
    ]
    assert "lake failed" in printed.err


def broken() -> Iterator[Figure]:
    raise RuntimeError("no such peer")


def test_the_same_count_gives_the_same_lessons() -> None:
    assert make_lessons(60) == make_lessons(60)


def test_the_median_and_the_99th_percentile_are_values_of_the_list() -> None:
    assert percentiles([float(n) for n in range(101)]) == (50.0, 99.0)


def test_a_failing_program_shows_its_output(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ended with 3:\nno such layout"):
        run((sys.executable, "-c", "print('no such layout'); raise SystemExit(3)"), tmp_path)


@pytest.mark.slow
def test_a_build_with_nothing_changed_costs_less_than_a_cold_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.course.ELEVENTY", tmp_path / "none")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    ours = measure(150, tmp_path)["Paddock"]
    assert ours["same"].cpu_s < 0.7 * ours["cold"].cpu_s


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts open files, and needs a terminal")
def test_a_short_soak_loses_nothing() -> None:
    run([sys.executable, "-m", "bench.soak", "--minutes", "0.05"], ROOT)
