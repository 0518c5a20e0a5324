"""What becomes of an imported file: laps, times, warnings, ids, car."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.formats.saved_mappings import locate_maps
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import ONE_BACKEND, Start
from tests.bridge.formats.logkit import drive as log_drive
from tests.bridge.formats.logkit import write
from tests.bridge.formats.vbo.vbokit import (
    MIDNIGHT,
    NATIVE,
    Dialect,
    Drive,
    coordinate_text,
    drive,
    vbo_bytes,
    write_vbo,
)

CAR = "tarnhow-pip-180"


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


async def test_a_vbo_file_becomes_a_session_with_laps(bridge: Bridge, tmp_path: Path) -> None:
    truth = write_vbo(tmp_path / "day.vbo")
    body = {"vbo_path": str(tmp_path / "day.vbo"), "driver": "Mia", "session_id": "imported"}

    done = await bridge.ok("POST", "/session/import", body)

    assert done["session_id"] == "imported"
    assert done["vbo_source"] == "day.vbo"
    assert done["n_laps"] == len(truth.lap_times)
    assert done["best_lap_s"] == pytest.approx(min(truth.lap_times), abs=0.05)
    assert await bridge.refused("POST", "/session/import", body) == (409, "session_exists")
    envelope = await bridge.ok("GET", "/session/imported/laps")
    assert envelope["laps"][0]["name"] == "Full session"
    assert envelope["laps"][0]["method"] == "all"
    laps = envelope["laps"][1:]
    assert [lap["lap_number"] for lap in laps] == list(range(1, len(truth.lap_times) + 1))
    assert {lap["method"] for lap in laps} == {"gps"}
    for lap, time_s in zip(laps, truth.lap_times, strict=True):
        assert lap["duration_s"] == pytest.approx(time_s, abs=0.05)
    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert row["lap_count"] == len(truth.lap_times)
    detail = await bridge.ok("GET", "/session/imported")
    assert len(detail["laps"]) == len(truth.lap_times)
    assert detail["n_frames"] == done["n_frames"]


def with_splits(lap: Drive, shares: list[float]) -> bytes:
    """A VBO file whose split lines lie at these shares of a lap."""
    length = lap.along_m[-1] / 3.2
    lines = []
    for share in shares:
        i = int(np.searchsorted(lap.along_m, share * length))
        places = [i, i - 2]  # the second point lies behind the line
        lons = coordinate_text(lap.lon[places], NATIVE, east=True)
        lats = coordinate_text(lap.lat[places], NATIVE)
        lines.append("Split   " + " ".join(f"{a} {b}" for a, b in zip(lons, lats, strict=True)))
    head, rest = vbo_bytes(lap).decode("cp1252").split("\r\n\r\n[column names]")
    return "\r\n".join([head, *lines, "", "[column names]" + rest]).encode("cp1252")


@ONE_BACKEND
@pytest.mark.parametrize(
    ("shares", "bounds"),
    [([0.2, 0.55], [0.2, 0.55]), ([0.5], [1 / 3, 2 / 3]), ([], [1 / 3, 2 / 3])],
    ids=["two", "one", "none"],
)
async def test_two_splits_of_a_file_are_the_bounds_of_its_sectors(
    bridge: Bridge, tmp_path: Path, shares: list[float], bounds: list[float]
) -> None:
    lap = drive()
    (tmp_path / "day.vbo").write_bytes(with_splits(lap, shares))

    body = {"vbo_path": str(tmp_path / "day.vbo"), "session_id": "s"}
    await bridge.ok("POST", "/session/import", body)

    answer = await bridge.ok("GET", "/session/s/sector_times")
    length = lap.along_m[-1] / 3.2
    passes = np.interp([0.0, *(length * np.array(bounds)), length], lap.along_m, lap.t)
    times = [answer["laps"][0][name] for name in ("s1", "s2", "s3")]
    assert times == pytest.approx(np.diff(passes).tolist(), abs=0.1)
    assert sum(times) == pytest.approx(float(lap.lap_times[0]), abs=0.01)


@ONE_BACKEND
async def test_a_file_that_cannot_be_imported_is_one_message(
    bridge: Bridge, tmp_path: Path
) -> None:
    for path in ("", "relative.vbo", "/nowhere/x.vbo", "/dev/null", "/etc/hostname", "/tmp"):
        answer = await bridge.post("/session/import", {"vbo_path": path})
        assert (answer.status, answer.json["code"]) == (400, "not_importable"), path
        assert "/nowhere" not in answer.json["error"]
    bad = tmp_path / "bad.vbo"
    for text in ("hello\n", ""):
        bad.write_text(text, encoding="utf-8")
        refused = await bridge.refused("POST", "/session/import", {"vbo_path": str(bad)})
        assert refused == (422, "unparsable_vbo")
    answer = await bridge.post("/session/import", {})
    assert (answer.status, answer.json["param"]) == (400, "vbo_path")
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_imports_stay_below_their_roots(start: Start, tmp_path: Path) -> None:
    inside = tmp_path / "logs"
    inside.mkdir()
    write_vbo(inside / "in.vbo")
    write_vbo(tmp_path / "out.vbo")
    async with start(import_roots=[inside]) as bridge:
        refused = {"vbo_path": str(tmp_path / "out.vbo")}
        assert (await bridge.refused("POST", "/session/import", refused))[0] == 400
        await bridge.ok("POST", "/session/import", {"vbo_path": str(inside / "in.vbo")})


@ONE_BACKEND
async def test_a_session_begins_and_ends_with_its_frames_wherever_the_logger_is(
    bridge: Bridge, tmp_path: Path
) -> None:
    local = Dialect(created="File created on 15/06/2025 @ 09:25:30")
    lap = drive(laps=1.2)
    write_vbo(tmp_path / "day.vbo", lap, local)

    done = await bridge.ok("POST", "/session/import", {"vbo_path": str(tmp_path / "day.vbo")})

    row = (await bridge.ok("GET", f"/session/{done['session_id']}"))["session"]
    assert seconds(row["started_at"]) == pytest.approx(MIDNIGHT + lap.t[0], abs=0.001)
    assert seconds(row["ended_at"]) == pytest.approx(MIDNIGHT + lap.t[-1], abs=0.001)
    assert done["session_id"].endswith("-20250615-092530")  # as the file says it was made


@ONE_BACKEND
async def test_a_file_whose_rows_count_from_zero_begins_when_it_was_made(
    bridge: Bridge, tmp_path: Path
) -> None:
    lap = drive(laps=0.3)
    write_vbo(tmp_path / "day.vbo", lap, Dialect(time="seconds"))

    body = {"vbo_path": str(tmp_path / "day.vbo"), "session_id": "s"}
    await bridge.ok("POST", "/session/import", body)

    row = (await bridge.ok("GET", "/session/s"))["session"]
    assert row["started_at"] == "2025-06-15T14:25:30.000Z"
    lasted = seconds(row["ended_at"]) - seconds(row["started_at"])
    assert lasted == pytest.approx(lap.t[-1] - lap.t[0], abs=0.002)


@ONE_BACKEND
async def test_what_became_null_is_in_the_warnings(bridge: Bridge, tmp_path: Path) -> None:
    text = vbo_bytes(drive(laps=0.2)).decode("cp1252")
    head, rows = text.split("[data]\r\n")
    names = head.split("[column names]\r\n")[1].split()
    at = names.index("velocity")
    lines = [line.split() for line in rows.split("\r\n") if line]
    for cells, word in zip(lines, ("nan", "inf", "5000", "1e300"), strict=False):
        cells[at] = word
    gate = "[laptiming]\r\nFinish foo bar\r\n"
    body = "\r\n".join(" ".join(cells) for cells in lines)
    (tmp_path / "odd.vbo").write_text(head.replace("[laptiming]\r\n", gate) + "[data]\r\n" + body)

    done = await bridge.ok("POST", "/session/import", {"vbo_path": str(tmp_path / "odd.vbo")})

    told = {one["code"]: one["count"] for one in done["warnings"]}
    assert told == {"values_unreadable": 3, "speed_impossible": 1, "gate_unreadable": 1}


@ONE_BACKEND
async def test_a_second_file_of_one_moment_is_refused_with_a_way_out(
    bridge: Bridge, tmp_path: Path
) -> None:
    write_vbo(tmp_path / "day.vbo", drive(laps=0.2))
    body = {"vbo_path": str(tmp_path / "day.vbo")}
    await bridge.ok("POST", "/session/import", body)

    answer = await bridge.post("/session/import", body)

    assert (answer.status, answer.json["code"]) == (409, "session_exists")
    assert "session_id" in answer.json["hint"]
    await bridge.ok("POST", "/session/import", {**body, "session_id": "another"})


@ONE_BACKEND
async def test_a_log_is_decoded_with_the_dbc_that_is_asked_for(
    bridge: Bridge, tmp_path: Path
) -> None:
    path = str(write(tmp_path / "drive.log", log_drive(5)))
    for at, dbc in enumerate(("paddock-dash", ["paddock-dash"], "")):
        body = {"path": path, "dbc": dbc, "session_id": f"s{at}"}
        done = await bridge.ok("POST", "/session/import", body)
        assert done["facts"]["dbc"].startswith("paddock-dash")
    for wrong in (5, [5], {"a": 1}):
        refused = await bridge.refused("POST", "/session/import", {"path": path, "dbc": wrong})
        assert refused == (400, "bad_field")
    missing = await bridge.refused("POST", "/session/import", {"path": path, "dbc": "missing.dbc"})
    assert missing[0] == 422


@pytest.mark.parametrize(
    ("loaded", "asked", "kept"),
    [(CAR, None, CAR), (CAR, CAR, CAR), (CAR, "Grandpa's van", "Grandpa's van"), (None, None, "")],
    ids=["loaded", "id", "name", "none"],
)
async def test_an_imported_log_keeps_the_car_that_decoded_it(
    loaded: str | None, asked: str | None, kept: str, start: Start, tmp_path: Path
) -> None:
    path = write(tmp_path / "drive.log", log_drive(5))
    async with start(can_car_config=loaded) as bridge:
        body = {"path": str(path), "session_id": "one", **({"car": asked} if asked else {})}
        await bridge.ok("POST", "/session/import", body)
        assert (await bridge.ok("GET", "/session/one"))["session"]["car"] == kept


FOREIGN = "EngineSpeed ECU_RPM GasPedalPosition Pedal2 latacc latacc-calc"


def foreign_vbo(path: Path, names: str = FOREIGN) -> str:
    """A drive whose channels have names of another maker; numbers tell them apart."""
    rows = [
        f"{n / 10:.1f} {60 + n % 7} " + " ".join(f"{at * 40 + n % 9}" for at in range(6))
        for n in range(100)
    ]
    path.write_text(f"[column names]\ntime velocity {names}\n[data]\n" + "\n".join(rows))
    return str(path)


@ONE_BACKEND
async def test_an_import_says_which_channels_it_took(bridge: Bridge, tmp_path: Path) -> None:
    path = foreign_vbo(tmp_path / "day.vbo", FOREIGN.replace("latacc-calc", "Latacc_mps2"))
    done = await bridge.ok("POST", "/session/import", {"path": path, "session_id": "s"})
    assert done["mapping"]["rpm"] == {
        "channel": "EngineSpeed", "unit": "rpm", "assumed": True, "why": "name",
        "others": ["ECU_RPM"], "constant": [],
    }  # fmt: skip
    assert done["mapping"]["speed_ms"]["unit"] == "km/h"
    assert done["mapping"]["brake_bar"]["channel"] is None
    assert done["mapping"]["brake_bar"]["why"] == "none"


@ONE_BACKEND
async def test_a_person_changes_the_mapping_and_it_is_kept_for_the_logger(
    bridge: Bridge, tmp_path: Path
) -> None:
    path = foreign_vbo(tmp_path / "day.vbo")

    async def imported(session_id: str, **more: object) -> dict[str, tuple[str | None, str]]:
        body = {"path": path, "session_id": session_id, **more}
        done = await bridge.ok("POST", "/session/import", body)
        return {name: (one["channel"], one["why"]) for name, one in done["mapping"].items()}

    preview = await bridge.ok("POST", "/session/import/preview", {"path": path})
    assert preview["mapping"]["rpm"]["channel"] == "EngineSpeed"
    assert "Pedal2" in preview["channels"]
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0

    mapping = {"rpm": "ecu_rpm", "throttle_pct": None, "brake_bar": "Pedal2:psi"}
    given = await imported("one", mapping=mapping)
    assert given["rpm"] == ("ECU_RPM", "given")
    assert given["throttle_pct"] == (None, "given")
    assert given["brake_bar"] == ("Pedal2", "given")
    columns = (await bridge.service.db.read_frames("one")).columns
    assert columns["rpm"].min() == 40
    assert columns["brake_bar"].max() == pytest.approx(128 * 0.0689476)
    assert np.isnan(columns["throttle_pct"]).all()

    foreign_vbo(tmp_path / "day.vbo")  # the next file of the same logger
    assert (await imported("two"))["rpm"] == ("ECU_RPM", "kept")
    assert (await imported("three", mapping={"rpm": "EngineSpeed"}))["rpm"][1] == "given"
    fourth = await imported("four")
    assert fourth["rpm"] == ("EngineSpeed", "kept")
    assert fourth["throttle_pct"] == ("GasPedalPosition", "name"), "a new mapping replaces the old"
    assert (await imported("five", mapping={}))["rpm"] == ("EngineSpeed", "name")
    assert (await imported("six"))["rpm"] == ("EngineSpeed", "name")

    path = foreign_vbo(tmp_path / "other.vbo", FOREIGN.replace("Pedal2", "Pedal3"))
    await imported("seven", mapping={"rpm": "ECU_RPM"})
    path = str(tmp_path / "day.vbo")
    assert (await imported("eight"))["rpm"][1] == "name", "another logger's is not used"


@ONE_BACKEND
async def test_a_mapping_that_does_not_fit_is_refused(bridge: Bridge, tmp_path: Path) -> None:
    for mapping, status, said in [
        ({"rpm": "Nowhere"}, 422, "EngineSpeed, ECU_RPM"),
        ({"revs": "ECU_RPM"}, 422, "known are speed_ms"),
        ({"rpm": "ECU_RPM:psi"}, 422, "one of rpm"),
        ({"rpm": 5}, 400, ""),
        ("rpm=ECU_RPM", 400, ""),
    ]:
        body = {"path": foreign_vbo(tmp_path / "day.vbo"), "mapping": mapping}
        for route in ("/session/import", "/session/import/preview"):
            answer = await bridge.post(route, body)
            assert answer.status == status
            assert said in answer.json["error"]
            if status == 422:
                assert answer.json["code"] == "bad_mapping"
                assert answer.json["param"].startswith("mapping.")
        assert (await bridge.ok("GET", "/sessions"))["count"] == 0


@ONE_BACKEND
async def test_a_damaged_file_of_mappings_is_said_and_not_passed_over(
    bridge: Bridge, tmp_path: Path
) -> None:
    body = {"path": foreign_vbo(tmp_path / "day.vbo"), "mapping": {"rpm": "ECU_RPM"}}
    await bridge.ok("POST", "/session/import", body)
    locate_maps(bridge.service.settings.database).write_text("{", encoding="utf-8")
    refused = await bridge.refused("POST", "/session/import", {**body, "session_id": "two"})
    assert refused == (422, "channel_maps_unreadable")


async def test_the_mapping_of_a_log_overrules_the_car_file(start: Start, tmp_path: Path) -> None:
    path = str(write(tmp_path / "drive.log", log_drive(5)))
    async with start(can_car_config=CAR) as bridge:
        done = await bridge.ok("POST", "/session/import", {"path": path, "session_id": "one"})
        assert done["mapping"]["speed_ms"]["why"] == "car"
        body = {"path": path, "session_id": "two", "mapping": {"throttle_pct": "none"}}
        done = await bridge.ok("POST", "/session/import", body)
        assert done["mapping"]["throttle_pct"] == {
            "channel": None, "unit": "", "assumed": False, "why": "given",
            "others": ["throttle_pct"], "constant": [],
        }  # fmt: skip
        names = [
            row["name"] for row in (await bridge.ok("GET", "/session/two/capabilities"))["signals"]
        ]
        assert "throttle_pct" not in names
