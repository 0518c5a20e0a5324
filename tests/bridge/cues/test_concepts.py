"""The nine concepts: when each is the one, and that the course teaches it."""

import re
from pathlib import Path

import pytest
import yaml

from runtime.bridge.cues.concepts import CONCEPTS, Concept, Inputs, choose_concept
from tests.bridge.cues.coachkit import NAN, QUIET

IN = QUIET._replace(in_corner=True, v=90.0)
COAST = QUIET._replace(thr=4.9, brake=1.9, v=50.1, to_entry=100.1)
NEAR = QUIET._replace(to_entry=120.0, bz=0.0)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (IN._replace(brake=10.1, glat=0.41), "trail_brake"),
        (IN._replace(brake=10.0, glat=0.41), "look_ahead"),
        (IN._replace(brake=10.1, glat=0.41, past_apex=True, thr=0.0), "trail_brake"),
        (IN._replace(brake=0.9, glat=0.61), "early_brake_release"),
        (IN._replace(brake=5.0, past_apex=True, thr=19.9, glat=0.31), "exit_speed"),
        (COAST, "full_commitment"),
        (COAST._replace(to_entry=100.0), "late_apex"),
        (COAST._replace(in_corner=True), "look_ahead"),
        (NEAR._replace(to_entry=129.9, bz=100.0), "brake_end_focus"),
        (NEAR._replace(to_entry=130.0, bz=100.0), "late_apex"),
        (NEAR._replace(to_entry=129.9, bz=100.0, dz=-9.0), "brake_end_focus"),
        (NEAR._replace(dz=-5.1, to_entry=199.9), "downhill_braking"),
        (NEAR._replace(dz=5.1, to_entry=199.9), "uphill_braking"),
        (NEAR._replace(to_entry=0.0), "look_ahead"),
        (QUIET, "look_ahead"),
    ],
)
def test_the_first_condition_that_holds_counts(inputs: Inputs, expected: str) -> None:
    assert choose_concept(inputs).id == expected


@pytest.mark.parametrize("missing", Inputs._fields)
@pytest.mark.parametrize("concept", CONCEPTS[:-1], ids=lambda one: one.id)
def test_a_missing_channel_fires_no_concept_that_names_it(missing: str, concept: Concept) -> None:
    fitting = {
        "trail_brake": IN._replace(brake=20.0, glat=0.8),
        "early_brake_release": IN._replace(glat=0.8),
        "exit_speed": IN._replace(brake=5.0, past_apex=True, thr=0.0, glat=0.5),
        "full_commitment": COAST,
        "brake_end_focus": NEAR._replace(bz=110.0),
        "downhill_braking": NEAR._replace(dz=-9.0),
        "uphill_braking": NEAR._replace(dz=9.0),
        "late_apex": NEAR,
    }
    inputs = fitting[concept.id]
    assert choose_concept(inputs) is concept

    unknown = None if missing in ("in_corner", "past_apex") else NAN
    inputs = Inputs(**{**inputs._asdict(), missing: unknown})

    named = missing in re.findall(r"\w+", concept.fires_when)
    assert concept.holds(inputs) is not named


def test_the_course_has_the_same_concepts_in_the_same_order(root: Path) -> None:
    taught = yaml.safe_load((root / "content" / "concepts.yaml").read_text(encoding="utf-8"))

    assert [(one["id"], one["title"]) for one in taught] == [(c.id, c.title) for c in CONCEPTS]


def test_the_lessons_are_there_and_teach_the_concepts(root: Path) -> None:
    taught: dict[str, tuple[str, list[str]]] = {}
    for path in root.glob("content/phases/*/*/lesson.md"):
        head = yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])
        taught[head["id"]] = (head["title"], head.get("concepts", []))

    for concept in CONCEPTS:
        title, concepts = taught[concept.lesson.id]
        assert title == concept.lesson.title
        assert concept.id in concepts
