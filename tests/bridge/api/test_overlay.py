"""Several laps over each other: several sessions on one axis, and references that do not fit."""

import numpy as np
import pytest
import pytest_asyncio

from runtime.bridge.api.overlay import OverlayAnswer
from runtime.bridge.session.recording import Samples
from runtime.bridge.storage.records import SessionMeta
from tests.bridge.analysis.lapkit import OVAL, session
from tests.bridge.bridgekit import Bridge
from tests.bridge.session.sessions import change
from tools.drive import drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
MIA = drive(OVAL, 3, hz=10.0, seed=1, skill=0.9)
TOM = drive(OVAL, 2, hz=10.0, seed=2, skill=0.95)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driven(shared_bridge: Bridge) -> Bridge:
    """Three laps of Mia, two of Tom who has a sensor more and one less, and one elsewhere."""
    store = shared_bridge.service.db
    await store.append_frames("mia", MIA.frames, meta=SessionMeta(driver="Mia", car="hatch"))
    t = TOM.frames.columns["timestamp"]
    further = {"oil_temp_c": Samples(t, 80.0 + t / 10), "gear_position": Samples(t[:1], t[:1] + 3)}
    bare = change(TOM.frames, steering_deg=np.nan)
    await store.append_frames("tom", bare, further, meta=SessionMeta(driver="Tom"))
    return shared_bridge


async def test_laps_of_two_sessions_share_an_axis(driven: Bridge) -> None:
    answer = await driven.get("/compare?laps=mia:1,mia:best,tom:2,1:00.5,ideal")

    OverlayAnswer.model_validate_json(answer.body)
    found = answer.json
    assert b"NaN" not in answer.body
    assert (found["track"], len(found["axis_m"])) == (OVAL.id, 1000)
    assert found["axis_m"][-1] == found["length_m"] == pytest.approx(OVAL.length_m)
    first, best, tom, target, ideal = found["laps"]
    assert [(lap["session_id"], lap["lap_number"]) for lap in (first, tom)] == [
        ("mia", 1),
        ("tom", 2),
    ]
    assert (first["driver"], first["car"], tom["driver"]) == ("Mia", "hatch", "Tom")
    assert best["lap_time_s"] == pytest.approx(min(MIA.lap_times_s), abs=0.05)
    for lap in (first, best, tom):
        assert all(len(values) == 1000 for values in lap["channels"].values())
        assert lap["channels"]["time_s"][-1] == pytest.approx(lap["lap_time_s"], abs=0.0011)
        gap = lap["lap_time_s"] - first["lap_time_s"]
        assert lap["channels"]["delta_s"][-1] == pytest.approx(gap, abs=0.0021)
        for name in ("lat", "lon", "speed_kmh", "throttle_pct", "brake_bar", "g_lat", "rpm"):
            assert None not in lap["channels"][name], name
    assert set(first["channels"]["delta_s"]) == {0.0}
    assert set(tom["channels"]["gear_position"]) == {3.0}
    assert tom["channels"]["oil_temp_c"][0] > 80.0
    assert (first["missing"], tom["missing"]) == (["gear_position", "oil_temp_c"], ["steering_deg"])
    assert target["channels"]["time_s"][-1] == 60.5
    assert target["channels"]["lat"] == best["channels"]["lat"]
    assert (ideal["kind"], ideal["session_id"], ideal["started_at"]) == ("ideal", None, None)


async def test_the_ideal_lap_is_made_of_what_was_driven(driven: Bridge) -> None:
    found = await driven.ok("GET", "/compare?laps=tom:ideal,mia:1,mia:2,mia:3,mia:ideal")

    other, *laps, ideal = found["laps"]
    times = ideal["channels"]["time_s"]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(ideal["lap_time_s"], abs=0.0011)
    whole = await driven.ok("GET", "/session/mia/ideal_lap")
    assert ideal["lap_time_s"] == pytest.approx(whole["ideal_lap_s"], abs=0.0021)
    for name in ("speed_kmh", "lat", "brake_bar"):
        columns = [lap["channels"][name] for lap in laps]
        assert all(
            value in driven
            for value, *driven in zip(ideal["channels"][name], *columns, strict=True)
        )
    assert other["lap_time_s"] != ideal["lap_time_s"]
    assert ideal["channels"]["delta_s"][-1] == pytest.approx(
        ideal["lap_time_s"] - other["lap_time_s"], abs=0.0021
    )


async def test_corners_and_sectors_say_where_each_lap_loses(driven: Bridge) -> None:
    found = await driven.ok("GET", "/compare?laps=mia:1,tom:2&points=100")

    assert len(found["axis_m"]) == 100
    assert [corner["name"] for corner in found["corners"]] == ["Turn 1", "Turn 2"]
    for corner in found["corners"]:
        assert corner["start_m"] <= corner["entry_m"] < corner["apex_m"] < corner["end_m"]
        own, other = corner["laps"]
        assert own["delta_s"] == 0.0
        assert other["delta_s"] == pytest.approx(other["time_s"] - own["time_s"], abs=0.0011)
        assert own["min_speed_kmh"] > 20
    first, second = (lap["lap_time_s"] for lap in found["laps"])
    sectors = [sector["laps"] for sector in found["sectors"]]
    assert sum(own["time_s"] for own, _ in sectors) == pytest.approx(first, abs=0.0021)
    gain = sum(other["delta_s"] for _, other in sectors)
    assert gain == pytest.approx(second - first, abs=0.0021)


async def test_only_the_channels_asked_for_are_sent(driven: Bridge) -> None:
    found = await driven.ok("GET", "/compare?laps=mia:1,tom:2&channels=speed_kmh,oil_temp_c")

    mia, tom = found["laps"]
    assert list(mia["channels"]) == ["time_s", "speed_kmh", "delta_s"]
    assert set(tom["channels"]) == {"time_s", "speed_kmh", "oil_temp_c", "delta_s"}
    assert (mia["missing"], tom["missing"]) == (["oil_temp_c"], [])


async def test_what_cannot_be_compared_is_named(driven: Bridge) -> None:
    for query, status, code, param in [
        ("", 400, "bad_query", "laps"),
        ("laps=mia:1", 400, "bad_query", "laps"),
        ("laps=" + ",".join(["mia:1"] * 7), 400, "bad_query", "laps"),
        ("laps=1,mia:2", 400, "bad_query", "laps[0]"),
        ("laps=mia:1,worst", 400, "bad_query", "laps[1]"),
        ("laps=mia:1,mia:2,", 400, "bad_query", "laps[2]"),
        ("laps=mia:1,mia:2&points=99", 400, "bad_query", "points"),
        ("laps=mia:1,mia:9", 404, "unknown_lap", None),
        ("laps=mia:9,mia:1", 404, "unknown_lap", None),
        ("laps=mia:1,nobody:best", 404, "unknown_session", None),
        ("laps=nobody:1,mia:1", 404, "unknown_session", None),
        ("laps=mia:1,line:1", 400, "bad_query", "laps[1]"),
    ]:
        if "line" in query:
            elsewhere = session([(20.0,) * 3] * 2)
            about = SessionMeta(track="larkfell")
            await driven.service.db.append_frames("line", elsewhere, meta=about)

        answer = await driven.get(f"/compare?{query}")

        assert (answer.status, answer.json["code"]) == (status, code)
        assert answer.json.get("param") == param


async def test_signals_of_a_lap_stand_at_the_places_of_that_lap(driven: Bridge) -> None:
    axis = "names=speed_ms,rpm&axis=distance&interp=linear"
    compared = await driven.ok("GET", "/compare?laps=mia:2,mia:2&points=100")
    (lap, _), at = compared["laps"], compared["axis_m"]
    path = f"/session/mia/signals?{axis}&lap=2"

    grid = f"{path}&rate_hz=1&step_m={at[-1] / 99}"
    even = await driven.ok("GET", grid)
    frames = await driven.ok("GET", path)
    part = await driven.ok("GET", f"{grid}&t_from={even['rows'][50]['t'] - 0.01}")
    whole = await driven.ok("GET", f"/session/mia/signals?{axis}")

    rows = even["rows"]
    assert [row["distance_m"] for row in rows] == pytest.approx(at, abs=0.01)
    since = [row["t"] - rows[0]["t"] for row in rows]
    assert since == pytest.approx(lap["channels"]["time_s"], abs=0.003)
    speed = [row["speed_ms"] * 3.6 for row in rows]
    assert speed == pytest.approx(lap["channels"]["speed_kmh"], abs=0.02)
    places = [row["distance_m"] for row in frames["rows"]]
    assert places == sorted(places)
    assert 0.0 <= places[0] < 10.0 < places[-1] <= at[-1]
    assert frames["count"] == pytest.approx(lap["lap_time_s"] * 10, abs=1)
    assert part["rows"] == rows[50:]
    assert whole["rows"][-1]["distance_m"] > 2 * at[-1]
    refused = await driven.refused("GET", f"/session/mia/signals?{axis}&lap=9")
    assert refused == (404, "unknown_lap")
    fine = await driven.refused("GET", f"{path}&rate_hz=1&step_m=0.001")
    assert fine == (413, "too_many_rows")
