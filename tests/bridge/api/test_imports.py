"""What an import says of a file: times, warnings, ids; on both databases."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.formats.logkit import drive as log_drive
from tests.bridge.formats.logkit import write
from tests.bridge.formats.vbo.vbokit import MIDNIGHT, Dialect, drive, vbo_bytes, write_vbo


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


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


@pytest.mark.parametrize("dbc", ["paddock-dash", ["paddock-dash"]])
async def test_one_dbc_needs_no_list(bridge: Bridge, tmp_path: Path, dbc: object) -> None:
    path = write(tmp_path / "drive.log", log_drive(5))
    done = await bridge.ok("POST", "/session/import", {"path": str(path), "dbc": dbc})
    assert done["facts"]["dbc"].startswith("paddock-dash")


async def test_an_empty_dbc_is_none_and_another_kind_is_refused(
    bridge: Bridge, tmp_path: Path
) -> None:
    path = str(write(tmp_path / "drive.log", log_drive(5)))
    await bridge.ok("POST", "/session/import", {"path": path, "dbc": ""})
    for wrong in (5, [5], {"a": 1}):
        refused = await bridge.refused("POST", "/session/import", {"path": path, "dbc": wrong})
        assert refused == (400, "bad_field")
    missing = await bridge.refused("POST", "/session/import", {"path": path, "dbc": "missing.dbc"})
    assert missing[0] == 422
