"""From the decoded signals of a bus to the signals of a car."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.can.carfile import CarError, parse_car
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.decoder import Column
from runtime.bridge.can.rules import Plan, Rules, compile_plan


def rules_of(rules: str) -> Rules:
    return Rules(compile_plan(parse_car(f"car: {{make: M}}\n{rules}".encode())))


def test_a_signal_without_a_rule_passes_through() -> None:
    assert rules_of("").feed_frame({"rpm": 4000}) == {"rpm": 4000.0}


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
    emit = rules_of(rules).feed_frame({"raw": 4})
    assert list(emit.items()) == [("renamed", 18.0), ("g_lat", 18.0), ("doubled", 36.0)]


SUM = "derived:\n  total: {formula: a + b, bind: {a: first, b: second}}\n"


def test_a_derived_signal_waits_for_its_inputs_and_then_follows_them() -> None:
    cars = rules_of(SUM)
    assert cars.feed_frame({"first": 1}) == {"first": 1.0}
    assert cars.feed_frame({"second": 2})["total"] == 3.0
    assert cars.feed_frame({"first": 5})["total"] == 7.0
    assert "total" not in cars.feed_frame({"third": 9})


def test_derived_signals_may_need_each_other_in_any_order() -> None:
    rules = (
        "derived:\n  last: {formula: 2 * m, bind: {m: middle}}\n"
        "  middle: {formula: x + 1, bind: {x: first}}\n"
    )
    assert rules_of(rules).feed_frame({"first": 1}) == {"first": 1.0, "middle": 2.0, "last": 4.0}


def test_what_is_undefined_is_left_out_and_counted() -> None:
    cars = rules_of("derived:\n  ratio: {formula: a / b, bind: {a: first, b: second}}\n")
    assert cars.feed_frame({"first": 1, "second": 0}) == {"first": 1.0, "second": 0.0}
    assert cars.feed_frame({"first": float("nan")}) == {}
    assert cars.feed_frame({"first": 1e308, "second": 1e-10}) == {"first": 1e308, "second": 1e-10}
    assert cars.undefined == {"ratio": 2, "first": 1}


def test_a_step_that_needs_another_signal_waits_for_it() -> None:
    rules = "signals:\n  a:\n    apply:\n      - {formula: x - z, bind: {x: $self, z: zero}}\n"
    cars = rules_of(rules)
    assert cars.feed_frame({"a": 5}) == {}
    assert cars.feed_frame({"zero": 2, "a": 5}) == {"zero": 2.0, "a": 3.0}


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
    emit = rules_of(GEAR).feed_frame({"rpm": rpm, "left": left, "right": right})
    assert emit["gear_position"] == gear


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
    (
        "signals: {a: {apply: [{formula: x + y, bind: {x: $self, y: a}}]}}",
        "signals: some of these need each other in a circle",
    ),
    (
        "signals: {a: {apply: [{formula: x + y, bind: {x: $self, y: total}}]}}\n" + SUM,
        "signals.a: total is made after it",
    ),
    ("signals: {a: {}}\nderived: {a: {formula: negate, bind: {x: b}}}", "a is made twice"),
    ("methods: {g: {method: guess, inputs: {rpm: r, wheels: w}}}", "methods.g.method: "),
    (GEAR.replace("rpm: rpm, ", ""), "methods.gear_position.inputs.rpm: is missing"),
    (GEAR.replace("wheels", "wheel"), "methods.gear_position.inputs.wheels: is missing"),
    (GEAR.replace("final_drive: 4.0, ", ""), "params.final_drive: is missing"),
    (GEAR.replace("ratios: [3.0", "ratios: [-3.0"), r"params.ratios\[0\]: "),
]


@pytest.mark.parametrize(("rules", "message"), BAD)
def test_a_wrong_rule_is_refused_with_its_place(rules: str, message: str) -> None:
    with pytest.raises(CarError, match=message):
        rules_of(rules)


Frames = list[dict[str, float]]


def columns_of(frames: Frames, messages: Sequence[Sequence[str]]) -> list[Column]:
    """Frames as a decoder would give them: a column a signal and message."""
    outputs = []
    sent = [
        next(message for message in messages if frame.keys() <= set(message)) for frame in frames
    ]
    for message in messages:
        for place, name in enumerate(message):
            rows = [at for at, frame in enumerate(frames) if sent[at] is message and name in frame]
            if rows:
                values = np.array([frames[at][name] for at in rows])
                outputs.append(Column(name, place, np.array(rows, np.intp), values))
    return outputs


def emit(
    plan: Plan, messages: Sequence[Sequence[str]], frames: Frames, cut: int
) -> dict[str, list[tuple[int, float]]]:
    """What goes out, by name, of frames that come so many at a time."""
    rules = Rules(plan)
    outputs: dict[str, list[tuple[int, float]]] = {}
    for begin in range(0, len(frames), cut):
        part = frames[begin : begin + cut]
        for name, (rows, values) in rules.feed(columns_of(part, messages)).items():
            pairs = zip((rows + begin).tolist(), values.tolist(), strict=True)
            outputs.setdefault(name, []).extend(pairs)
    return {name: rows for name, rows in outputs.items() if rows}


def random_frames(messages: Sequence[Sequence[str]], count: int, seed: int) -> Frames:
    chance = random.Random(seed)
    frames = []
    for _ in range(count):
        names = chance.choice(messages)
        kept = names if chance.random() < 0.8 else names[: chance.randrange(len(names) + 1)]
        odd = [0.0, -0.0, math.nan, math.inf, 1e308, -3.5]
        frames.append(
            {
                name: chance.choice(odd) if chance.random() < 0.1 else chance.uniform(-99, 99)
                for name in kept
            }
        )
    return frames


CROSSED = """
signals:
  a:
    apply:
      - {formula: x + other, bind: {x: $self, other: b}}
      - {sign_flip: true}
    rename_to: a2
    canonical: rpm
    derive:
      - {name: d1, formula: x / y, bind: {x: $self, y: c}}
      - {name: d2, formula: x * y, bind: {x: $self, y: b}}
  b: {apply: [{bias: 1.5}]}
derived:
  late: {formula: p - q, bind: {p: d1, q: c}}
  later: {formula: p * 2 + r, bind: {p: late, r: a2}}
"""
SETS = [
    (CROSSED, [["a", "b", "c"]]),
    (CROSSED, [["c", "b", "a"], ["e"]]),
    (CROSSED, [["a"], ["b"], ["c", "e"]]),
    (CROSSED, [["a", "b"], ["b", "c"]]),
    (CROSSED, [["a", "late"], ["b", "c"]]),
]


@pytest.mark.parametrize(("rules", "messages"), SETS)
def test_however_frames_are_put_together_the_same_goes_out(
    rules: str, messages: list[list[str]]
) -> None:
    plan = compile_plan(parse_car(f"car: {{make: M}}\n{rules}".encode()))
    for seed in range(3):
        frames = random_frames(messages, 120, seed)
        alone = emit(plan, messages, frames, 1)
        assert emit(plan, messages, frames, 7) == alone
        assert emit(plan, messages, frames, 1000) == alone


@pytest.mark.parametrize("car", ["tarnhow-pip-180", "oberling-vesper-30"])
def test_the_shipped_cars_tell_the_same_live_and_of_a_log(car: str) -> None:
    loaded = load_car(Path(__file__).parents[3] / "data" / "cars" / f"{car}.yaml")
    messages = [list(frame.channels) for frame in loaded.file.frames.values()]
    frames = random_frames(messages, 400, 1)
    alone, together = (emit(loaded.plan, messages, frames, cut) for cut in (1, 400))
    assert alone.keys() == together.keys()
    for name, pairs in alone.items():
        assert np.allclose(pairs, together[name], rtol=1e-12, atol=0), name
