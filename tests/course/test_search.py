"""Search: words of lessons, the index files, and the script that ranks them."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest

from course.publish.search import (
    STEP,
    build_index,
    choose_shard,
    fold,
    index_lesson,
    index_page,
    tokenize,
)
from course.publish.shell import ASSETS
from course.read import markdown
from course.read.markdown import Source
from course.read.sources import english

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

TEXTS = [
    "Brake later, release earlier",
    "Geschwindigkeit in der Schikane: größer, Straße",
    "élève naïve cœur Ærø łódź",
    "レースの速度 と ブレーキ",
    "制动点 2026 速",
    "제동 지점",
    "don't stop: 3.6 m/s² at 5 °C",
    "snake_case and CAN-bus",
    "Ünïcode\u00a0space ﬁne",
]


def lesson(identity: str, **changes: Any) -> dict[str, Any]:
    """What the index reads of a planned lesson."""
    return {
        "id": identity,
        "title": identity.replace("-", " ").capitalize(),
        "summary": "Nothing.",
        "status": "planned",
        "objectives": [],
        "concepts": [],
        "tags": [],
    } | changes


def entry(identity: str, body: str = "", **changes: Any) -> dict[str, Any]:
    """Index data of a lesson with the given body, which asks nothing."""
    asked = [{"prompt": prompt} for prompt in changes.pop("quiz", ())]
    material = {
        "content": {"toc": []},
        "check": {"prompt": changes.pop("check", "")},
        "quiz": {"questions": asked},
    }
    read = markdown.read(Source(body, "lesson.md", 1, "content", english())).body.prose
    return index_lesson(lesson(identity, status="authored", **material, **changes), "\n".join(read))


def lessons_of(files: dict[str, bytes], word: str) -> list[tuple[str, int]]:
    """Lesson ids and levels of *word*, decoded from index files."""
    head = json.loads(files["search/index.json"])
    part = json.loads(files[f"search/{choose_shard(word)}.json"]) if "shards" in head else head
    words = part["words"].split(" ")
    if word not in words:
        return []
    code, found = 0, []
    for step in part["postings"][words.index(word)]:
        code += step
        found.append((head["lessons"][code // STEP][0], code % STEP))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Brake LATER, later.", ["brake", "later", "later"]),
        ("Élève naïve", ["eleve", "naive"]),
        ("größer Straße", ["grosser", "strasse"]),
        ("trail_brake CAN-bus", ["trail", "brake", "can", "bus"]),
        ("5 °C, 3 m/s²", ["5", "c", "3", "m", "s2"]),
        ("制动点", ["制动", "动点"]),
        ("速", ["速"]),
        ("abc制动", ["制动", "abc"]),
        ("ブレーキ", ["ブレ", "レー", "ーキ"]),
        ("제동", ["제동"]),
        ("", []),
    ],
)
def test_text_becomes_folded_words_and_pairs(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_fields_weigh_more_than_running_text() -> None:
    found = entry(
        "one",
        "Body body shift.\n\n## Heading\n\nlonely",
        title="Apex",
        objectives=["Find the turn-in."],
        concepts=["late_apex"],
    )
    level = {word: n for n, words in enumerate(found["terms"]) for word in words.split()}
    assert level["lonely"] == level["shift"] == 1
    assert level["body"] == 2
    assert level["turn"] == 2
    assert level["late"] == 2
    assert level["apex"] == 3  # title and concept: 4 + 2


BESIDE: dict[str, Any] = {
    "quiz": ["Where does the kerb begin?", "How steep is the hill?"],
    "check": "Why is the apex late?",
    "evidence": ["A sketch of the kerb."],
    "references": [{"title": "Marques on tyres", "url": "https://example.org/secret"}],
}


def test_words_of_questions_evidence_and_references_come_below_the_text() -> None:
    found = entry("one", "The apex, 4711.", title="Hill", **BESIDE)
    beside, text, *_ = found["terms"]
    assert beside == "begin kerb late marques sketch steep tyres"
    assert text.split() == ["apex", "4711"]
    assert found["length"] == entry("one", "The apex, 4711.", title="Hill")["length"]


def test_a_planned_lesson_is_found_by_its_evidence_too() -> None:
    planned = lesson("tyre-window", evidence=["A zigzag."])
    assert "zigzag" in index_lesson(planned)["terms"][0].split()


def test_code_link_targets_digits_and_common_words_are_left_out() -> None:
    body = (
        "See [the guide](../secret-target/) at 7.\n\n```python\nhidden_name = 12\n```\n\n"
        "1. And then:\n   ~~~~text\n   hidden\n   ~~~\n   ~~~~\n\n> ```text\n> hidden\n> ```\n\n"
        "visible text."
    )
    words = " ".join(entry("one", body)["terms"]).split()
    assert {"guide", "visible", "text"} <= set(words)
    assert not {"secret", "target", "7", "12", "hidden", "name", "the", "and", "s"} & set(words)


def test_numbers_in_the_text_are_found() -> None:
    body = "The Boeing 747 of 1969.\n\nA fence of ``` is shown as ```` ``` ````.\n\nBelow 12 °C."
    assert {"747", "1969", "12", "below"} <= set(" ".join(entry("one", body)["terms"]).split())


def test_a_planned_lesson_is_found_by_its_brief_and_is_labelled() -> None:
    found = index_lesson(lesson("tyre-window"))
    files = build_index([found])
    assert lessons_of(files, "tyre") == [("tyre-window", 3)]
    assert json.loads(files["search/index.json"])["lessons"][0][3] == 1


def test_the_index_gives_back_each_lesson_of_a_word_in_order() -> None:
    entries = [entry(f"lesson-{n}", "apex " * (n % 3) + "corner") for n in range(40)]
    files = build_index(entries)
    assert list(files) == ["search/index.json"]
    expected = [(f"lesson-{n}", n % 3) for n in range(40) if n % 3]
    assert lessons_of(files, "apex") == expected
    assert len(lessons_of(files, "corner")) == 40
    assert lessons_of(files, "absent") == []


def test_a_common_word_lists_only_lessons_that_are_about_it() -> None:
    entries = [entry(f"lesson-{n}", "grip" + " grip" * (n < 3)) for n in range(60)]
    assert [name for name, _ in lessons_of(build_index(entries), "grip")] == [
        "lesson-0",
        "lesson-1",
        "lesson-2",
    ]


@pytest.mark.parametrize("where", [{"body": "grip"}, {"check": "Why grip?"}])
def test_a_word_that_every_lesson_mentions_once_is_not_lost(where: dict[str, str]) -> None:
    entries = [entry(f"lesson-{n}", **where) for n in range(60)]
    assert len(lessons_of(build_index(entries), "grip")) == 60


def test_questions_take_no_lesson_from_a_word_that_the_text_mentions() -> None:
    text = [entry(f"text-{n}", "grip") for n in range(25)]
    asking = [entry(f"asking-{n}", check="Why grip?") for n in range(25)]
    assert len(lessons_of(build_index([*text, *asking[:5]]), "grip")) == 30
    assert lessons_of(build_index([*text, *asking]), "grip") == [
        (f"text-{n}", 1) for n in range(25)
    ]


def test_a_large_course_is_split_by_first_letter() -> None:
    entries = [entry(f"lesson-{n}", "apex brake 制动 überholen") for n in range(12)]
    files = build_index(entries, shard_above=11)
    head = json.loads(files["search/index.json"])
    assert "words" not in head
    assert set(files) == {"search/index.json"} | {f"search/{s}.json" for s in head["shards"]}
    assert {"a", "b", "u", "other"} <= set(head["shards"])
    for word in ("apex", "brake", "制动", "uberholen"):
        assert len(lessons_of(files, word)) == 12


KIT = {
    "url": "projects/lap-review-kit/",
    "title": "Lap *review* kit",
    "summary": "A tool that cuts laps and sectors.",
    "status": "planned",
}


def test_pathways_roles_domains_and_projects_have_their_rows_after_the_lessons() -> None:
    entries = [entry("one", "apex " * 10), entry("two", "apex " * 30)]
    files = build_index(entries, others=[index_page("project", KIT)])
    head = json.loads(files["search/index.json"])
    assert [row[0] for row in head["lessons"]] == ["one", "two"]
    length = sum(one["length"] for one in entries) // 2
    title, summary = "Lap review kit", "A tool that cuts laps and sectors."
    assert head["others"] == [["projects/lap-review-kit/", title, summary, 1, length, 4]]
    assert "others" not in json.loads(build_index(entries)["search/index.json"])


def test_the_index_of_a_thousand_lessons_stays_within_its_budget() -> None:
    rng = random.Random(7)
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    vocabulary = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(9000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    entries = []
    for number in range(1000):
        words = rng.choices(vocabulary, weights, k=600)
        body = " ".join(words)
        entries.append(entry(f"{words[0]}-{number}", body, summary=" ".join(words[:14])))
    files = build_index(entries)
    assert sum(len(gzip.compress(data)) for data in files.values()) <= 300_000


# -- the script -------------------------------------------------------------------------------


def run_script(code: str) -> Any:
    """The JSON that *code* prints with the exports of search.js in scope."""
    source = (ASSETS / "search.js").read_text(encoding="utf-8").replace("import.meta.url", '""')
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=f"{source}\nconst print = (v) => console.log(JSON.stringify(v));\n{code}",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return json.loads(done.stdout)


def ranked(
    entries: list[dict[str, Any]],
    queries: Iterable[str],
    shard_above: int,
    others: list[dict[str, Any]] | None = None,
    synonyms: list[list[str]] | None = None,
) -> dict[str, list[str]]:
    """By query: lessons' ids and the others' addresses that the script lists, best first."""
    made = build_index(entries, shard_above, others or [], synonyms or [])
    files = {path: json.loads(data) for path, data in made.items()}
    found = run_script(
        f"const files = {json.dumps(files)};"
        "globalThis.fetch = async (url) => ({ok: true, json: async () => "
        "files[new URL(url).pathname.slice(8)]});"
        'const index = await new Index("https://x.test/course/").load();'
        "const found = {};"
        f"for (const query of {json.dumps(list(queries))})"
        "  found[query] = (await index.find(query)).map(([n]) => index.lessons[n][0]);"
        "print(found);"
    )
    assert isinstance(found, dict)
    return found


def assert_ranked(found: dict[str, list[str]], expected: dict[str, list[str]]) -> None:
    """The best one is the first of those expected, and the others follow in any order."""
    for query, names in expected.items():
        assert found[query][:1] == names[:1], query
        assert sorted(found[query]) == sorted(names), query


@needs_node
def test_the_script_folds_and_splits_as_the_build_does() -> None:
    found = run_script(f"print({json.dumps(TEXTS)}.map((t) => [fold(t), tokens(t)]))")
    for text, (folded, words) in zip(TEXTS, found, strict=True):
        assert folded == fold(text)
        assert sorted(words) == sorted(tokenize(text))


COURSE = [
    entry("brake-trace", "Braking pressure falls. Grip.", title="Read a brake trace"),
    entry("trail-braking", "Braking braking braking into the corner.", title="Trail braking"),
    entry("late-apex", "The brake is mentioned once. Grip grip grip.", title="Late apex"),
    entry("eleve", "Rien.", title="L'élève et la grüne Ecke"),
    entry("zhidong", "", title="制动点"),
]


@needs_node
@pytest.mark.parametrize("shard_above", [1000, 1])
def test_words_that_stand_for_one_another_find_the_same_lessons(shard_above: int) -> None:
    expected = {
        "heel and toe": ["trail-braking", "brake-trace"],
        "Heel-and-toe in the corner": ["trail-braking", "brake-trace"],
        "traction": ["brake-trace", "late-apex"],
        "heel": [],
    }
    groups = [["Heel and toe", "braking"], ["grip", "traction"]]
    assert ranked(COURSE, expected, shard_above, synonyms=groups) == expected


@needs_node
def test_the_passage_with_most_of_the_words_is_shown() -> None:
    passages = [{"text": "Grip is a word."}, {"text": "The braking takes grip."}, {"text": "Rain."}]
    found = run_script(
        f"print([['grip', 'brak'], ['wet']].map((w) => passage(w, {json.dumps(passages)})));"
    )
    assert found == [passages[1], None]


@needs_node
@pytest.mark.parametrize("shard_above", [1000, 1])
def test_the_script_ranks_lessons(shard_above: int) -> None:
    expected = {
        "trail braking": ["trail-braking", "brake-trace"],
        "brake trace": ["brake-trace", "late-apex"],
        "brak": ["trail-braking", "brake-trace", "late-apex"],
        "ELEVE ": ["eleve"],
        "grune": ["eleve"],
        "动点": ["zhidong"],
        "grip late": ["late-apex", "brake-trace"],
        "apexes ": ["late-apex"],
        "the grip": ["late-apex", "brake-trace"],
        "zzzz": [],
        "": [],
        "  ,, ": [],
    }
    assert_ranked(ranked(COURSE, expected, shard_above), expected)


@needs_node
@pytest.mark.parametrize("shard_above", [1000, 1])
def test_the_script_finds_what_is_no_lesson(shard_above: int) -> None:
    expected = {
        "review kit": ["projects/lap-review-kit/"],
        "brake trace": ["brake-trace", "late-apex", "roles/brake-coach/"],
        "sectors ": ["projects/lap-review-kit/"],
    }
    coach = {"url": "roles/brake-coach/", "title": "Coach", "summary": "Talks about the brake."}
    others = [index_page("role", coach), index_page("project", KIT)]
    assert_ranked(ranked(COURSE, expected, shard_above, others), expected)


@needs_node
@pytest.mark.parametrize("shard_above", [1000, 1])
def test_a_lesson_that_only_asks_comes_behind_every_one_that_tells(shard_above: int) -> None:
    long = entry("text", "The kerb, once. " + "Other words of a long lesson. " * 400)
    course = [
        entry("question", quiz=["Where is the kerb?"], title="A"),
        entry("evidence", evidence=["A kerb."], title="B"),
        entry("reference", references=[{"title": "Kerb", "url": "https://example.org/"}]),
        entry("check", check="Why the kerb?"),
        long,
        entry("heading", summary="The kerb and more. " * 2),
        entry("title", title="The kerb"),
        entry("without", "Nothing of it."),
    ]
    for found in ranked(course, ("kerb ", "kerb", "ker"), shard_above).values():
        assert found[0] == "title"
        assert set(found[1:3]) == {"heading", "text"}
        assert found[3:] == ["question", "evidence", "reference", "check"]


@needs_node
@pytest.mark.parametrize("shard_above", [1000, 1])
def test_common_words_of_a_question_find_nothing_that_begins_like_them(shard_above: int) -> None:
    course = [*COURSE, entry("kit", "Whatever, isolated, theirs: trail. " * 9, title="Whatever")]
    alike = (
        "trail braking",
        "what is trail braking",
        "when does their trail braking",
        "with trail braking",
    )
    found = ranked(course, (*alike, "what"), shard_above)
    assert found["trail braking"][0] == "trail-braking"
    for question in alike:
        assert found[question] == found["trail braking"], question
    assert found["what"] == ["kit"]


def test_the_script_stays_small() -> None:
    size = len(gzip.compress((ASSETS / "search.js").read_bytes()))
    assert size <= 5000
