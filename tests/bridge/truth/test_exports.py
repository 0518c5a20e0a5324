"""One drive in the files of many loggers and programs: the same laps, whoever wrote it down."""

from collections.abc import AsyncIterator
from typing import NamedTuple

import numpy as np
import pytest
import pytest_asyncio

from tests.bridge.bridgekit import Bridge
from tests.bridge.truth.asking import View, look
from tests.bridge.truth.drives import FILE_PLAN, Drive, drive
from tests.bridge.truth.exports import EXPORTS, SENSORS, Export
from tests.bridge.truth.seen import Seen

LAP_S = 0.040


class Sent(NamedTuple):
    """A file that was dropped into a page, and what the bridge says of it."""

    name: str
    export: Export
    seen: Seen

    @property
    def view(self) -> View:
        return self.seen.view


@pytest.fixture(scope="module")
def made() -> Drive:
    return drive(FILE_PLAN)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=EXPORTS)
async def sent(
    request: pytest.FixtureRequest, shared_bridge: Bridge, made: Drive
) -> AsyncIterator[Sent]:
    """Each file in turn, by the way that a page takes."""
    export = EXPORTS[request.param]
    path = f"/session/upload?filename=a{export.suffix}&session_id={request.param}"
    answer = await shared_bridge.request("POST", path, data=export.write(made))
    assert answer.status == 200, answer.body
    view = await look(shared_bridge, request.param, answer.json)
    yield Sent(request.param, export, Seen(made, view))


def test_a_file_is_known_by_its_head(sent: Sent) -> None:
    assert sent.view.done["format"] == sent.export.form


def test_laps_and_the_best_lap_are_those_of_the_drive(sent: Sent) -> None:
    times = sent.seen.lap_times

    assert len(times) == FILE_PLAN.laps
    assert sent.view.times == pytest.approx(times, abs=LAP_S)
    assert sent.view.done["best_lap_s"] == pytest.approx(min(times), abs=LAP_S)


def test_speed_and_distance_are_those_of_the_drive(sent: Sent) -> None:
    made, view = sent.seen.made, sent.view

    assert view.said["stats"]["top_speed_kmh"] == pytest.approx(made.top_speed_ms * 3.6, rel=0.01)
    assert view.full["distance_m"] == pytest.approx(made.distance_m, rel=0.01)
    assert view.done["duration_s"] == pytest.approx(made.recorded_s, abs=0.1)


@pytest.mark.asyncio(loop_scope="module")
async def test_sensors_have_the_units_of_the_bridge(shared_bridge: Bridge, sent: Sent) -> None:
    there = sorted(SENSORS - sent.export.missing)
    path = f"/session/{sent.name}/signals?names={','.join((*there, 'speed_ms'))}"
    rows = (await shared_bridge.ok("GET", path))["rows"]

    for name in there:
        values = [row[name] for row in rows if row[name] is not None]
        truth = sent.seen.made.columns[name]
        slack = 0.03 * np.ptp(truth)
        assert np.percentile(values, [2, 98]) == pytest.approx(
            np.percentile(truth, [2, 98]), abs=slack
        )
    taken = {name for name, mapped in sent.view.done["mapping"].items() if mapped["channel"]}
    assert {"lat", "lon", "speed_ms", *there} <= taken
    assert not taken & sent.export.missing


@pytest.mark.asyncio(loop_scope="module")
async def test_a_damaged_file_is_refused_and_leaves_nothing(
    shared_bridge: Bridge, made: Drive
) -> None:
    before = await shared_bridge.ok("GET", "/sessions?limit=500")
    for name, export in EXPORTS.items():
        whole = export.write(made)
        for damaged in (whole[:40], np.random.default_rng(1).bytes(3000)):
            path = f"/session/upload?filename=a{export.suffix}&session_id=damaged-{name}"
            answer = await shared_bridge.request("POST", path, data=damaged)
            assert (answer.status, answer.json["code"]) == (422, "unparsable_file"), name
    assert await shared_bridge.ok("GET", "/sessions?limit=500") == before
