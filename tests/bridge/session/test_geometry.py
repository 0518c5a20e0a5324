"""The local plane and the ring: by numbers that can be worked out by hand."""

import math

import numpy as np
import pytest

from runtime.bridge.session.geometry import Plane, Ring, build_ring


def circle_ring(radius: float, step: float = 5.0) -> Ring:
    length = 2 * math.pi * radius
    count = round(length / step)
    angle = np.arange(count) / count * 2 * math.pi
    return Ring(radius * np.sin(angle), radius * np.cos(angle), length)


def test_the_plane_is_the_flat_map_of_its_origin() -> None:
    x, y = Plane(60.0, 10.0).xy(np.array([60.001]), np.array([10.001]))

    assert y[0] == pytest.approx(111.32)
    assert x[0] == pytest.approx(111.32 * 0.5)


def test_the_plane_goes_over_the_date_line_and_back() -> None:
    plane = Plane(10.0, 179.9995)
    lat, lon = np.array([10.001, 9.999]), np.array([-179.9995, 179.999])

    x, y = plane.xy(lat, lon)

    assert x[0] == pytest.approx(0.001 * 111_320 * math.cos(math.radians(10)))
    back = plane.latlon(x, y)
    np.testing.assert_allclose(back, [lat, lon], atol=1e-12)


def test_a_ring_to_the_right_has_positive_curvature_of_one_over_its_radius() -> None:
    path = circle_ring(100.0)

    np.testing.assert_allclose(path.curvature, math.degrees(1 / 100), rtol=1e-3)
    backwards = Ring(path.x[::-1].copy(), path.y[::-1].copy(), path.length_m)
    np.testing.assert_allclose(backwards.curvature, -math.degrees(1 / 100), rtol=1e-3)


def test_projection_finds_the_distance_and_the_side() -> None:
    path = circle_ring(100.0)
    angle = np.linspace(0, 2 * math.pi, 50, endpoint=False)
    for outside in (-8.0, 0.0, 8.0):
        x, y = (100 + outside) * np.sin(angle), (100 + outside) * np.cos(angle)
        near, _ = path.nearest(x, y)
        result = path.project(x, y, near)
        apart = (result.distance - angle * 100 + 300) % path.length_m - 300
        assert np.abs(apart).max() < 0.25  # beside a corner of the ring: 8 m x half its 2.9 degrees
        np.testing.assert_allclose(result.offset, -outside, atol=0.05)  # outside is to the left


def test_a_ring_through_uneven_points_follows_the_curve_between_them() -> None:
    angle = np.sort(np.random.default_rng(3).uniform(0, 2 * math.pi, 60))
    angle[0] = 0.0
    path = build_ring(80 * np.sin(angle), 80 * np.cos(angle), angle * 80, 2 * math.pi * 80)

    assert len(path) == round(2 * math.pi * 80 / 5)
    np.testing.assert_allclose(np.hypot(path.x, path.y), 80.0, atol=0.5)
