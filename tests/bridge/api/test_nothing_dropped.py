"""What comes in is kept, or the answer says that it was not: names, texts, a full catalogue."""

import pytest

from runtime.bridge.storage import transaction
from tests.bridge.bridgekit import Bridge, Json

KEPT: list[tuple[str, str]] = [
    ("temp(C)", "temp(C)"),
    ("Öldruck°", "Öldruck°"),
    ("tyre[0]", "tyre[0]"),
    ("a+b", "a+b"),
    ("Größe", "Größe"),
    ("油温", "油温"),
    ("oil#temp", "oil_temp"),
    ("a,b", "a_b"),
    ("c\nd", "c_d"),
    ("", "unnamed"),
    ("x" * 129, "x" * 128),
    (" speed_ms ", "speed_ms_2"),
]
"""Keys of frames that are no plain names, and the names of their signals."""


async def value_of(bridge: Bridge, name: str) -> Json:
    """The first value of a signal, as it is asked for over HTTP."""
    answer = await bridge.get("/session/s/signals", params={"names": name, "axis": "time"})
    assert answer.status == 200, answer.body
    return answer.json["rows"][0][name]


@pytest.mark.parametrize("how", ["frames", "columns", "frame"])
async def test_a_number_under_any_key_is_kept_and_can_be_asked_for(
    bridge: Bridge, how: str
) -> None:
    frame = {"timestamp": 1.0} | {key: at + 0.5 for at, (key, _) in enumerate(KEPT)}
    bodies: dict[str, Json] = {
        "frames": {"frames": [frame]},
        "columns": {"columns": {name: [value] for name, value in frame.items()}},
        "frame": frame,
    }
    path = "frame" if how == "frame" else "frames"
    answer = await bridge.ok("POST", f"/session/s/{path}", bodies[how])
    assert not answer.get("ignored")
    for at, (_, name) in enumerate(KEPT):
        assert await value_of(bridge, name) == at + 0.5
    listed = (await bridge.ok("GET", "/signals/registry"))["signals"]
    assert {name for _, name in KEPT} <= {one["name"] for one in listed}


async def test_keys_that_would_have_one_name_keep_two(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/s/frame", {"timestamp": 1, "a,b": 2, "a_b": 3, "a#b": 4})
    assert [await value_of(bridge, name) for name in ("a_b", "a_b_2", "a_b_3")] == [3, 4, 2]


async def test_what_is_no_number_is_told(bridge: Bridge) -> None:
    ignored = [{"name": "note", "reason": "not a number"}, {"name": "x", "reason": "not a number"}]
    frame = {"timestamp": 1, "speed_ms": 3, "note": "wet", "x": [1], "source": "can", "gear": None}
    many = await bridge.ok("POST", "/session/s/frames", {"frames": [frame]})
    assert (many["n_ignored"], many["ignored"]) == (2, ignored)
    one = await bridge.ok("POST", "/session/s/frame", frame)
    assert one["ignored"] == ignored
    clean = await bridge.ok("POST", "/session/s/frame", {"timestamp": 2, "speed_ms": 3})
    assert "ignored" not in clean


async def test_a_full_catalogue_costs_new_names_and_never_the_frames(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "MOST_DISCOVERED", 2)
    frame = {"timestamp": 1, "speed_ms": 30, "c": 3, "a": 1, "b": 2}
    answer = await bridge.ok("POST", "/session/s/frames", {"frames": [frame]})
    full = [{"name": "c", "reason": "the catalogue of signals is full"}]
    assert (answer["n_appended"], answer["ignored"]) == (1, full)
    single = await bridge.ok("POST", "/session/s/frame", {**frame, "timestamp": 2, "a": 9})
    assert single["ignored"] == full
    stored = await bridge.service.db.read_frames("s")
    assert stored.columns["speed_ms"].tolist() == [30, 30]
    samples = await bridge.service.db.read_signals("s", ["a", "b", "c"])
    assert {name: one.value.tolist() for name, one in samples.items()} == {
        "a": [1, 9],
        "b": [2, 2],
        "c": [],
    }
    body = {"signals": [["a", 3, 1], ["d", 3, 1]]}
    assert await bridge.refused("POST", "/session/s/signals", body) == (413, "registry_full")
    assert len((await bridge.service.db.read_signals("s", ["a"]))["a"].t) == 2


async def test_samples_may_be_added_to_any_signal_that_is_known(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/s/frame", {"timestamp": 1, "Öldruck°": 2})
    answer = await bridge.ok("POST", "/session/s/signals", {"signals": [["Öldruck°", 2, 3]]})
    assert answer["n_appended"] == 1
    unknown = await bridge.post("/session/s/signals", {"signals": [["Öltemperatur°", 2, 3]]})
    assert unknown.status == 400
    assert "letters from A to Z" in unknown.json["error"]


async def test_samples_of_a_column_that_fill_no_cell_are_told(bridge: Bridge) -> None:
    frames = [{"timestamp": t, "rpm": rpm} for t, rpm in ((0, 1000), (1, None), (2, 3000))]
    await bridge.ok("POST", "/session/s/frames", {"frames": frames})
    body = {"signals": [["rpm", 50, 1], ["x", 1, 1], ["rpm", 1, 7], ["rpm", 2, 8], ["rpm", 1, 9]]}
    answer = await bridge.ok("POST", "/session/s/signals", body)
    assert (answer["n_appended"], answer["n_rejected"]) == (2, 3)
    assert [one["index"] for one in answer["rejected"]] == [0, 2, 3]
    assert {one["reason"] for one in answer["rejected"]} == {
        "a column of the frames, and no frame near this time lacks it"
    }
    stored = await bridge.service.db.read_frames("s")
    assert stored.columns["rpm"].tolist() == [1000, 9, 3000]


@pytest.mark.parametrize("speed", [1e300, 1e5, -1e300])
async def test_a_speed_that_cannot_be_adds_nothing_to_the_distance(
    bridge: Bridge, speed: float
) -> None:
    for t, fast in ((0, 10.0), (1, 10.0), (2, speed), (3, 10.0)):
        await bridge.ok("POST", "/session/s/frame", {"timestamp": t, "speed_ms": fast})
    stated = [{"timestamp": 4, "speed_ms": speed, "distance_m": 40}, {"timestamp": 5, "speed": 10}]
    await bridge.ok("POST", "/session/s/frames", {"frames": stated})
    stored = await bridge.service.db.read_frames("s")
    distance = [None if d != d else d for d in stored.columns["distance_m"].tolist()]
    assert distance == [0, 10, None, 20, 40, 50]


async def test_a_session_is_as_long_wherever_it_is_asked(bridge: Bridge) -> None:
    frames = [{"timestamp": t, "speed_ms": 5.0} for t in range(5)]
    await bridge.ok("POST", "/session/s/frames", {"frames": [*frames, {"timestamp": 99}]})
    await bridge.ok("POST", "/session/s/signals", {"signals": [["x", 120, 1]]})
    whole = (await bridge.ok("GET", "/session/s/laps"))["laps"][0]
    stats = await bridge.ok("GET", "/session/s/stats?partial=true")
    told = (await bridge.ok("GET", "/session/s"))["duration_s"]
    assert (told, whole["duration_s"], stats["session_duration_s"]) == (99.0, 99.0, 99.0)


async def test_a_moment_between_two_frames_is_told_to_a_millisecond(bridge: Bridge) -> None:
    frames = [{"timestamp": t, "distance_m": 7 * t, "rpm": 1} for t in range(9)]
    await bridge.ok("POST", "/session/s/frames", {"frames": frames})
    query = "/session/s/signals?names=rpm&axis=distance&rate_hz=1&step_m=3"
    times = [row["t"] for row in (await bridge.ok("GET", query))["rows"]]
    assert times[1:4] == [0.429, 0.857, 1.286]


async def test_a_step_that_is_too_small_is_told_with_the_smallest_that_is_not(
    bridge: Bridge,
) -> None:
    refused = await bridge.get("/track/larkfell/elevation?step_m=0.0001")
    assert refused.status == 400
    assert "at most 1000" not in refused.json["error"]
    least = refused.json["error"].split(" is the smallest")[0].rpartition(" ")[2]
    assert (await bridge.get(f"/track/larkfell/elevation?step_m={least}")).status == 200
