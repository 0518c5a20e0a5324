"""The shape of the model: sizes that fit together, and which tokens the training teaches."""

import pytest

from training.coach.masks import taught
from training.coach.shape import Shape


def test_the_width_of_a_head_follows_from_the_shape() -> None:
    assert Shape(width=192, heads=3).head_width == 64


@pytest.mark.parametrize(
    "sizes",
    [
        {"width": 190},
        {"width": 200, "heads": 4},
        {"hidden": 500},
        {"heads": 5},
        {"heads": 6, "kv_heads": 4},
    ],
)
def test_sizes_that_do_not_fit_together_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        Shape(**sizes)


def test_only_the_words_of_the_assistant_and_their_end_are_taught() -> None:
    start, end, user, coach = 2, 3, 10, 11
    ids = [start, user, 20, 21, end, 30, start, coach, 40, 41, end, 30, start, user, 22, end]
    marked = [
        token for token, mark in zip(ids, taught(ids, [start, coach], end), strict=True) if mark
    ]
    assert marked == [40, 41, end]
