"""Tables of any program: their heads, clocks and units."""

import io
from datetime import UTC, datetime

import pytest

from runtime.bridge.formats.dates import parse_moment
from runtime.bridge.formats.detection import read_recording
from runtime.bridge.session.recording import Recording


def read(text: str, suffix: str = ".csv") -> Recording:
    return read_recording(io.BytesIO(text.encode()), f"a{suffix}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01T12:00:00.400Z", datetime(2024, 5, 1, 12, 0, 0, 400_000, UTC)),
        ("2024-05-01 12:00:00,400", datetime(2024, 5, 1, 12, 0, 0, 400_000, UTC)),
        ("2024-05-01T12:00:00+02:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("01-May-2024 12:34:56.5", datetime(2024, 5, 1, 12, 34, 56, 500_000, UTC)),
        ("Fri May 22 07:00:26 EDT 2015", datetime(2015, 5, 22, 7, 0, 26, tzinfo=UTC)),
        ("Wed Aug 14 20:10:10 GMT+02:00 2013", datetime(2013, 8, 14, 18, 10, 10, tzinfo=UTC)),
        ("Saturday, June 15, 2019 1:27 PM", datetime(2019, 6, 15, 13, 27, tzinfo=UTC)),
        ("12/31/2025 00:30", datetime(2025, 12, 31, 0, 30, tzinfo=UTC)),
        ("01/02/2025 10:00", datetime(2025, 2, 1, 10, tzinfo=UTC)),
        ("16:57:02.65", 61_022.65),
        ("1:23.456", 83.456),
        ("14-AUG-16", datetime(2016, 8, 14, tzinfo=UTC)),
        ("File created on 01/08/2025 @ 14:52:19", datetime(2025, 8, 1, 14, 52, 19, tzinfo=UTC)),
        ("File created on 22/01/23 @ 03:11", datetime(2023, 1, 22, 3, 11, tzinfo=UTC)),
        ("created on 05/14/2023 12:00:01 am", datetime(2023, 5, 14, 0, 0, 1, tzinfo=UTC)),
        ("created on 14.05.2023 9:12:40 PM", datetime(2023, 5, 14, 21, 12, 40, tzinfo=UTC)),
        ("created on 2023-05-14 at 09:12:40", datetime(2023, 5, 14, 9, 12, 40, tzinfo=UTC)),
        ("31/02/2023", None),
        ("32/13/2025", None),
        ("0.5", None),
        ("hello", None),
        ("9" * 100, None),
    ],
)
def test_a_moment_is_read_as_people_and_programs_write_it(
    text: str, expected: datetime | float | None
) -> None:
    day, seconds = parse_moment(text)
    moment = None if day is None and seconds is None else (day or 0.0) + (seconds or 0.0)
    wanted = expected.timestamp() if isinstance(expected, datetime) else expected
    assert parse_moment(text).unix == (moment if isinstance(expected, datetime) else None)
    assert moment == (wanted if wanted is None else pytest.approx(wanted, abs=1e-6))


PLACE = "46.0,9.0"
EPOCH = 1_780_000_000.0


@pytest.mark.parametrize(
    ("text", "begin", "step"),
    [
        (f"time,lat,lon,speed\n0.5,{PLACE},1\n0.6,{PLACE},1\n", 0.0, 0.1),
        (f"Time (ms),Lat,Lng,speed\n50,{PLACE},1\n150,{PLACE},1\n", 0.0, 0.1),
        (f"timestamp,lat,lon,speed\n{EPOCH},{PLACE},1\n{EPOCH + 1},{PLACE},1\n", EPOCH, 1.0),
        (f"utc,lat,lon,v\n1780000000000,{PLACE},1\n1780000000250,{PLACE},1\n", EPOCH, 0.25),
        (f"utc,lat,lon,v\n1780000000000000,{PLACE},1\n1780000000250000,{PLACE},1", EPOCH, 0.25),
        (
            (
                "Date,Time,Latitude,Longitude\n"
                f"2026-05-28,20:26:40.0,{PLACE}\n2026-05-28,20:26:40.1,{PLACE}\n"
            ),
            EPOCH,
            0.1,
        ),
        # the finer clock, with the date of the coarser one
        (
            f"Time,UTC,lat,lon\n3.0,{EPOCH:.0f},{PLACE}\n3.2,{EPOCH:.0f},{PLACE}\n",
            EPOCH - 0.2,
            0.2,
        ),
        (
            "sep=;\nTime;lat;lon;Speed\n0,5;46,0;9,0;1,5\n0,7;46,0;9,0;1,5\n",
            0.0,
            0.2,
        ),
        # a line of the head that looks like a row, and no line between
        (
            (
                '"Format","AiM CSV File"\n"Beacon Markers",1,2,4\n"Time","RPM","Lat","Lon"\n'
                '"s","rpm","deg","deg"\n0,1000,46,9\n1,1001,46,9\n2,1002,46,9\n'
            ),
            0.0,
            1.0,
        ),
        ("Format,x\nSample Rate,50\n\nDistance,RPM\nm,rpm\n\n0,900\n1,901\n2,902\n", 0.0, 0.02),
        (f"# a comment\ntime,lat,lon\n0,{PLACE}\n1,{PLACE}\n# the end\n", 0.0, 1.0),
    ],
)
def test_the_time_is_found_and_counts_seconds(text: str, begin: float, step: float) -> None:
    recording = read(text)
    t = recording.frames.columns["timestamp"]
    assert t[0] == pytest.approx(begin, abs=1e-6)
    assert t[1] - t[0] == pytest.approx(step, abs=1e-6)
    assert not {"rows_short", "rows_long"} & {doubt.code for doubt in recording.doubts}


def test_columns_of_text_are_named_and_left_out() -> None:
    recording = read(f"time,trap,on,lat,lon\n0,Start,true,{PLACE}\n1,Esses,false,{PLACE}\n")
    (doubt,) = (doubt for doubt in recording.doubts if doubt.code == "text_columns")
    assert doubt.detail.endswith(": trap")
    assert recording.signals["on"].value.tolist() == [1.0, 0.0]


def test_nmea_without_a_date_goes_on_over_midnight() -> None:
    lines = [
        f"$GPGGA,{clock},4600.{n:04d},N,00900.0000,W,1,8,1,500,M,,M,,"
        for n, clock in enumerate(("235958.0", "235959.0", "000000.0", "000001.0"))
    ]
    columns = read("\n".join(lines), ".nmea").frames.columns
    assert columns["timestamp"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert columns["lon"].tolist() == [-9.0] * 4
