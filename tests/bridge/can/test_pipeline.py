"""From the decoded signals of a bus to the signals of a car."""

import pytest

from runtime.bridge.can.carfile import CarError, parse_car
from runtime.bridge.can.methods import MethodError, bind_method
from runtime.bridge.can.pipeline import CACHED, Pipeline, compile_plan


def pipeline(rules: str) -> Pipeline:
    return Pipeline(compile_plan(parse_car(f"car: {{make: M}}\n{rules}".encode())))


def test_a_signal_without_a_rule_passes_through() -> None:
    assert pipeline("").feed({"rpm": 4000}) == {"rpm": 4000.0}


def test_steps_are_applied_in_order_before_the_signal_goes_out_under_both_names() -> None:
    rules = """
signals:
  raw:
    apply:
      - {sign_flip: true}
      - {bias: 10}
      - {formula: scale, bind: {x: $self, factor: 3}}
    rename_to: renamed
    canonical: g_lat
    derive:
      - {name: doubled, formula: x * 2, bind: {x: $self}}
"""
    emitted = pipeline(rules).feed({"raw": 4})
    assert list(emitted.items()) == [("renamed", 18.0), ("g_lat", 18.0), ("doubled", 36.0)]


SUM = "derived:\n  total: {formula: a + b, bind: {a: first, b: second}}\n"


def test_a_derived_signal_waits_for_its_inputs_and_then_follows_them() -> None:
    cars = pipeline(SUM)
    assert cars.feed({"first": 1}) == {"first": 1.0}
    assert cars.feed({"second": 2})["total"] == 3.0
    assert cars.feed({"first": 5})["total"] == 7.0
    assert "total" not in cars.feed({"third": 9})


def test_derived_signals_may_need_each_other_in_any_order() -> None:
    rules = (
        "derived:\n  last: {formula: 2 * m, bind: {m: middle}}\n"
        "  middle: {formula: x + 1, bind: {x: first}}\n"
    )
    assert pipeline(rules).feed({"first": 1}) == {"first": 1.0, "middle": 2.0, "last": 4.0}


def test_what_is_undefined_is_left_out_and_counted() -> None:
    cars = pipeline("derived:\n  ratio: {formula: a / b, bind: {a: first, b: second}}\n")
    assert cars.feed({"first": 1, "second": 0}) == {"first": 1.0, "second": 0.0}
    assert cars.feed({"first": float("nan")}) == {}
    assert cars.feed({"first": 1e308, "second": 1e-10}) == {"first": 1e308, "second": 1e-10}
    assert cars.undefined == {"ratio": 2, "first": 1}


def test_a_step_that_needs_another_signal_waits_for_it() -> None:
    rules = "signals:\n  a:\n    apply:\n      - {formula: x - z, bind: {x: $self, z: zero}}\n"
    cars = pipeline(rules)
    assert cars.feed({"a": 5}) == {}
    assert cars.feed({"zero": 2, "a": 5}) == {"zero": 2.0, "a": 3.0}


def test_the_latest_values_are_bounded() -> None:
    cars = pipeline("")
    for number in range(CACHED + 10):
        cars.feed({f"s{number}": number})
    assert len(cars.latest) == CACHED
    assert "s9" not in cars.latest
    assert "s10" in cars.latest


GEAR = """
methods:
  gear_position:
    method: rpm_over_wheel_speed_ratio
    inputs: {rpm: rpm, wheels: [left, right]}
    params: {ratios: [3.0, 2.0, 1.5, 1.0], final_drive: 4.0, tyre_circumference_m: 2.0}
"""


@pytest.mark.parametrize(
    ("rpm", "left", "right", "gear"),
    [
        # 60 km/h is 500 wheel turns a minute of 2 m; in a gear of ratio 2 the engine turns 4000.
        (4000, 60, 60, 2),
        (4000, 50, 70, 2),
        (3000, 60, 60, 3),
        (6000, 60, 60, 1),
        (2000, 60, 60, 4),
        (4400, 60, 60, 2),  # 10 % off
        (4500, 60, 60, 0),  # 12.5 % off: a slipping clutch
        (900, 60, 60, 0),
        (900, 4.9, 4.9, 0),
        (0, 0, 0, 0),
    ],
)
def test_the_gear_follows_from_engine_and_wheels(
    rpm: float, left: float, right: float, gear: int
) -> None:
    emitted = pipeline(GEAR).feed({"rpm": rpm, "left": left, "right": right})
    assert emitted["gear_position"] == gear


BAD: list[tuple[str, str]] = [
    ("signals: {a: {apply: [{formula: warp, bind: {x: $self}}]}}", r"apply\[0\].formula: unknown"),
    (
        "signals: {a: {apply: [{formula: scale, bind: {x: $self}}]}}",
        "the input factor is not bound",
    ),
    ("signals: {a: {apply: [{formula: negate, bind: {x: 1, y: 2}}]}}", "there is no input y"),
    ("signals: {a: {apply: [{formula: x + y, bind: {x: $self}}]}}", "unknown name: y"),
    ("signals: {a: {apply: [{formula: x.real, bind: {x: $self}}]}}", "not allowed in a formula"),
    ("signals: {a: {apply: [{sign_flip: true, bias: 1}]}}", "exactly one of"),
    ("signals: {a: {apply: [{sign_flip: yes}]}}", "must be true or false"),
    ("signals: {a: {apply: [{bias: 1:30}]}}", r"signals.a.apply\[0\].bias: must be a number"),
    ("signals: {a: {apply: [{formula: negate, bind: {x: true}}]}}", "bind.x: a boolean cannot"),
    ("signals: {a: {canonical: g}, b: {rename_to: g}}", "signals.b: g is also made by a"),
    ("signals: {a: {rename_to: b}, b: {}}", "b is also made by"),
    ("signals: {a: {derive: [{name: a, formula: negate, bind: {x: $self}}]}}", "goes out twice"),
    ("derived: {a: {formula: negate, bind: {x: $self}}}", "stands for one signal"),
    ("derived: {a: {formula: negate, bind: {x: 3}}}", "no signal is bound"),
    (
        "derived: {a: {formula: negate, bind: {x: b}}, b: {formula: negate, bind: {x: a}}}",
        "need each other in a circle",
    ),
    ("signals: {a: {}}\nderived: {a: {formula: negate, bind: {x: b}}}", "a is made twice"),
    ("methods: {g: {method: guess, inputs: {rpm: rpm}}}", "methods.g.method: there is no 'guess'"),
]


@pytest.mark.parametrize(("rules", "message"), BAD)
def test_a_wrong_rule_is_refused_with_its_place(rules: str, message: str) -> None:
    with pytest.raises(CarError, match=message):
        pipeline(rules)


@pytest.mark.parametrize(
    ("inputs", "params", "message"),
    [
        ({"wheels": "w"}, {}, "inputs.rpm"),
        ({"rpm": "r"}, {}, "inputs.wheels"),
        ({"rpm": "r", "wheels": "w", "x": "y"}, {}, "inputs.x: unknown"),
        ({"rpm": "r", "wheels": "w"}, {}, "params.ratios"),
        ({"rpm": "r", "wheels": "w"}, {"ratios": (1.0, -1.0)}, "params.ratios"),
        ({"rpm": "r", "wheels": "w"}, {"ratios": (1.0,)}, "params.final_drive"),
    ],
)
def test_a_method_that_lacks_something_is_refused(
    inputs: dict[str, str], params: dict[str, tuple[float, ...]], message: str
) -> None:
    with pytest.raises(MethodError, match=message):
        bind_method("rpm_over_wheel_speed_ratio", inputs, params)
