"""The speed comparison: same lessons every time, a table that adds up, failures that show."""

import sys
from pathlib import Path

import pytest

from bench.course import OURS, Result, bench, table
from bench.lessons import front_matter, make_lessons, practice, write_content
from bench.measure import Run, Size, median, run, size
from course.read import yamlsource


def test_the_same_count_and_seed_give_the_same_lessons() -> None:
    assert make_lessons(60) == make_lessons(60)
    assert make_lessons(60) != make_lessons(60, seed=2)


def test_a_lesson_weighs_about_five_kilobytes_and_has_its_own_id() -> None:
    lessons = make_lessons(5000)
    weights = [len(front_matter(lesson) + lesson.body) for lesson in lessons]
    assert len({lesson.id for lesson in lessons}) == 5000
    assert (min(weights) > 4000, max(weights) < 6000) == (True, True)


def test_the_peers_get_every_question_that_our_quiz_asks(tmp_path: Path) -> None:
    (lesson,) = make_lessons(1)
    write_content([lesson], tmp_path)
    (file,) = tmp_path.rglob("quiz.yaml")
    data, problems = yamlsource.parse(file.read_text("utf-8"), file.name)
    assert (problems, len(data["questions"])) == ([], 4)
    text = practice(lesson)
    for question in data["questions"]:
        right = next(option["text"] for option in question["options"] if option.get("correct"))
        assert question["prompt"] in text
        assert all(f"- {option['text']}\n" in text for option in question["options"])
        assert f"Answer: {right} {question['explanation']}\n" in text


def test_a_prerequisite_is_an_earlier_lesson_of_the_same_phase() -> None:
    lessons = make_lessons(100)
    assert lessons[40].prerequisite is None
    assert lessons[41].prerequisite == lessons[40].id


def test_a_run_is_measured_with_its_processor_time(tmp_path: Path) -> None:
    cost = run((sys.executable, "-c", "sum(range(3_000_000))"), tmp_path)
    assert 0 < cost.cpu_s < 30
    assert cost.wall_s > 0
    assert cost.peak_mb > 1


def test_a_failing_generator_shows_its_output(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ended with 3:\nno such layout"):
        run((sys.executable, "-c", "print('no such layout'); raise SystemExit(3)"), tmp_path)


def test_the_table_puts_every_peer_in_relation_to_our_cold_build(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("x" * 1000)
    fast, slow = Run(0.5, 0.4, 80.0), Run(2.0, 1.9, 300.0)
    written = size(tmp_path)
    assert written == Size(1, 1, 0.001)
    results = [
        Result(OURS.name, dict.fromkeys(("cold", "same", "one"), fast), written),
        Result("Peer", dict.fromkeys(("cold", "same", "one"), slow), written),
    ]
    last = table(1000, results).splitlines()[-1]
    assert last == "| Peer | 2.00 | 1.90 | 2.00 | 2.00 | 300 | 1 | 0.0 | 4.0 |"


def test_the_median_is_taken_of_each_figure() -> None:
    assert median([Run(1, 9, 5), Run(2, 1, 5), Run(9, 2, 7)]) == Run(2, 2, 5)


@pytest.mark.slow
def test_a_build_with_nothing_changed_costs_at_most_a_quarter_of_a_cold_one(tmp_path: Path) -> None:
    [ours] = bench(1000, rounds=1, tools=tmp_path, work=tmp_path, only=[OURS.name])
    assert ours.size.pages >= 1000
    assert ours.runs["same"].cpu_s <= 0.25 * ours.runs["cold"].cpu_s
    assert ours.runs["one"].cpu_s <= 0.75 * ours.runs["cold"].cpu_s
