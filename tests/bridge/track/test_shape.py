"""Drawing closed lines from straights and bends."""

import math

import numpy as np
import pytest

from runtime.bridge.track.shape import Bend, Part, draw


def test_a_circle_is_two_pi_r_long_and_round() -> None:
    shape = draw([Bend(360, 150)])

    assert shape.length_m == pytest.approx(2 * math.pi * 150)
    np.testing.assert_allclose(np.hypot(shape.x - 150, shape.y), 150, atol=1e-3)


def test_free_straights_close_the_line() -> None:
    quarter = Bend(90, 40, 10)
    shape = draw([100.0, quarter, 200.0, quarter, 0.0, quarter, 0.0, quarter], free=(4, 6))

    ends = np.hypot(shape.x[-1] - shape.x[0], shape.y[-1] - shape.y[0])
    assert ends == pytest.approx(shape.length_m / len(shape.x), abs=0.05)
    assert shape.length_m == pytest.approx(600 + 4 * quarter.length_m)


def test_start_and_finish_may_lie_anywhere() -> None:
    parts: list[Part] = [200.0, Bend(180, 50), 200.0, Bend(180, 50)]
    shape = draw(parts, heading=90.0, start_m=150.0)

    entry, middle, leave = shape.windows[0]
    assert [entry, leave] == pytest.approx([50.0, 50 + 50 * math.pi])
    assert middle == pytest.approx((entry + leave) / 2)
    assert shape.x[1] == pytest.approx(shape.length_m / len(shape.x))  # going east


def test_a_bend_counts_from_where_it_bends_enough() -> None:
    bend = Bend(90, 100, 20)  # 0.573 degrees a metre at its tightest: 0.3 is reached after 10.47 m

    assert bend.lead_m == pytest.approx(20 * 0.3 / 0.57296, abs=1e-3)
    assert bend.length_m == pytest.approx(50 * math.pi + 20)


@pytest.mark.parametrize(
    ("parts", "free", "said"),
    [
        ([Bend(350, 50)], None, "360"),
        ([0.0, Bend(180, 50), 0.0, Bend(180, 50)], (0, 2), "parallel"),
        (
            [0.0, Bend(90, 50), 0.0, Bend(90, 50), 9.0, Bend(90, 90), 9.0, Bend(90, 50)],
            (4, 6),
            "closes only",
        ),
    ],
)
def test_what_cannot_close_is_refused(
    parts: list[Part], free: tuple[int, int] | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        draw(parts, free=free)
