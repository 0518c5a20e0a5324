"""The Grafana dashboards show what there is: metrics of /metrics, fields of points."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from runtime.bridge.live.outlets.points import TAGS, Point
from runtime.bridge.live.timing import LapSector, Timing
from runtime.bridge.session.recording import WIDE
from tests.bridge.conftest import Start
from tests.bridge.live.outlets.outletkit import LAP, OPENED, SECTOR, free_port, influxdb
from tests.bridge.live.outlets.test_points import Ear
from tests.bridge.live.streamkit import cue, frame
from tests.waiting import until

BOARDS: Final = Path(__file__).resolve().parents[4] / "deploy" / "grafana"
SESSION: Final = "s"
FRAME: Final = frame(SESSION)._replace(wide=dict.fromkeys(WIDE, 1.0))
TIMING: Final = Timing(2, 150.0, 12.5, -0.25, 90.0)
WHOLE_LAP: Final = LAP._replace(
    sectors=tuple(LapSector(number, 30.0, False) for number in (1, 2, 3)), mean5_s=92.0
)
CUE: Final = cue("Box", SESSION)._replace(corner="T3", concept="braking", distance_m=410.0)


def board(name: str) -> Any:
    return json.loads((BOARDS / f"{name}.json").read_text())


def targets(name: str) -> list[dict[str, Any]]:
    return [target for panel in board(name)["panels"] for target in panel.get("targets", ())]


@pytest.mark.parametrize("name", ["servers", "telemetry"])
def test_a_board_has_the_form_that_grafana_reads(name: str) -> None:
    made = board(name)
    panels = made["panels"]
    assert made["schemaVersion"] >= 41
    assert made["uid"] == f"paddock-{name}"
    assert len({panel["id"] for panel in panels}) == len(panels)
    sources = {f"${{{one['name']}}}" for one in made["templating"]["list"]}
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] == "row" or panel["datasource"]["uid"] in sources
        letters = [target["refId"] for target in panel.get("targets", ())]
        assert len(set(letters)) == len(letters)
        at = panel["gridPos"]
        mine = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24
        assert cells.isdisjoint(mine), panel["title"]
        cells |= mine


async def test_the_bridge_has_every_metric_that_is_shown(start: Start) -> None:
    asked = {
        name
        for target in targets("servers")
        for name in re.findall(r"\bbridge_[a-z_]+", target["expr"])
    }
    nowhere = f"http://127.0.0.1:{free_port()}/write?db=x"
    async with start(simulate=True, influx_url=nowhere) as bridge:
        text = (await bridge.get("/metrics")).body.decode()
    assert len(asked) > 15
    assert asked - set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) == set()


def test_points_have_every_field_that_is_shown() -> None:
    ear = Ear()
    ear.hub.publish_frame(FRAME, TIMING)
    ear.hub.publish_done(FRAME, WHOLE_LAP)
    ear.hub.publish_done(FRAME, SECTOR)
    ear.hub.publish_cue(CUE)
    points = [point for point in ear.points if isinstance(point, Point)]
    fields = {point.table: {*point.fields, *TAGS} for point in points}
    queries = [target["query"] for target in targets("telemetry")]
    variables = board("telemetry")["templating"]["list"]
    queries += [one["query"] for one in variables if one["type"] == "query"]
    for query in queries:
        named = re.search(r'FROM "(\w+)"', query)
        assert named is not None, query
        shown = set(re.findall(r'"(\w+)"', query)) - {named[1]}
        assert shown - fields[named[1]] == set(), query  # type: ignore[index]


async def test_influxdb_answers_every_query_of_the_board(start: Start, tmp_path: Path) -> None:
    async with (
        influxdb(tmp_path) as server,
        start(influx_url=server.url, influx_token=":".join(OPENED)) as bridge,
    ):
        await bridge.ok("POST", "/session/start", {"session_id": SESSION, "driver": "Mia"})
        hub, outlet = bridge.service.hub, bridge.service.outlets[0]
        hub.publish_frame(FRAME, TIMING)
        hub.publish_done(FRAME, WHOLE_LAP)
        hub.publish_cue(CUE)
        await until(lambda: outlet.sent == 3)
        for target in targets("telemetry"):
            query = (
                target["query"]
                .replace("$timeFilter", "time > now() - 1h AND time < now() + 1h")
                .replace("$__interval", "10s")
                .replace("${session:regex}", SESSION)
            )
            assert "$" not in query.replace("$/", ""), query
            assert await server.query(query), query
        (variable,) = [v for v in board("telemetry")["templating"]["list"] if v["type"] == "query"]
        assert [row["value"] for row in await server.query(variable["query"])] == [SESSION]
