"""Writes a drive as the files of loggers and programs, each in its own words.

None of the writers shares anything with the readers. The headers are those that the programs
write; what they say of the session is made up.
"""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tests.bridge.truth.circuits import Numbers
from tests.bridge.truth.drives import Drive

KMH: Final = 3.6
MPH: Final = 1 / 0.44704
_VBO_HEAD: Final = """File created on {when}

[header]
satellites
time
latitude
longitude
velocity kmh
heading
{extra}
[comments]
Written by a test

[column names]
sats time lat long velocity heading {names}

[data]
"""
_RACECHRONO_HEAD: Final = """This file is created using RaceChrono Pro v9.1.3.
Format,3
Session title,"A day"
Session type,Lap timing
Track name,
Driver name,
Created,{when}
Note,

timestamp,fragment_id,lap_number,latitude,longitude,satellites,speed,speed
unix time,,,deg,deg,sats,m/s,m/s
,,,100: gps,100: gps,100: gps,100: gps,200: obd
"""


class Export(NamedTuple):
    """A kind of file."""

    suffix: str
    form: str
    """What the import calls the format."""
    write: Callable[[Drive], bytes]
    missing: frozenset[str] = frozenset()
    """Signals of the drive that the file does not have."""


def channels(made: Drive) -> dict[str, Numbers]:
    """The columns of the drive, with its heading, the seconds since its begin, laps and speed."""
    c = dict(made.columns)
    way = np.interp(c["timestamp"], made.t, made.way)
    x, y = made.circuit.at(np.stack([way - 1.0, way + 1.0]), np.zeros((2, len(way))))
    c["course"] = np.degrees(np.arctan2(x[1] - x[0], y[1] - y[0])) % 360.0
    c["s"] = c["timestamp"] - c["timestamp"][0]
    c["lap"] = np.floor(way / made.circuit.length_m) + 1
    c["kmh"] = c["speed_ms"] * KMH
    c["rpm"] = 2000.0 + 100.0 * c["speed_ms"]
    return c


def lines_passed(made: Drive) -> Numbers:
    """Seconds since the begin at which the line was passed."""
    passed: Numbers = made.pass_times(0.0) - made.columns["timestamp"][0]
    return passed


def table(row: str, *columns: Iterable[object]) -> str:
    """Rows of a format string."""
    return "".join(row.format(*cells) + "\n" for cells in zip(*columns, strict=True))


def moments(t: Numbers, pattern: str) -> list[str]:
    """Unix seconds as texts; %f is cut to milliseconds."""
    texts = []
    for second in t.round(3):
        moment = datetime.fromtimestamp(float(second), UTC)
        text = moment.strftime(pattern.replace("%f", "@"))
        texts.append(text.replace("@", f"{round(moment.microsecond / 1000):03d}"))
    return texts


def write_racebox(made: Drive) -> bytes:
    """The speed states no unit, and is in miles an hour."""
    c = channels(made)
    head = (
        "Record,Time,Latitude,Longitude,Altitude,Speed,GForceX,GForceY,GForceZ,Lap,"
        "GyroX,GyroY,GyroZ\n"
    )
    rows = table(
        "{},{},{:.7f},{:.7f},512.3,{:.3f},{:.3f},{:.3f},0.998,{:.0f},0.1,0.2,0.3",
        range(1, len(c["s"]) + 1), moments(c["timestamp"], "%Y-%m-%dT%H:%M:%S.%fZ"),
        c["lat"], c["lon"], c["speed_ms"] * MPH, c["g_long"], c["g_lat"], c["lap"],
    )  # fmt: skip
    return (head + rows).encode()


def write_racebox_render(made: Drive) -> bytes:
    """The preset for a video program, behind the optional lines on the session."""
    c = channels(made)
    head = (
        "Format,RaceBox\nTrack,Hollow\nLap 1, 00:41.20\n\n"
        "Record,Time,Latitude,Longitude,Altitude,KPH,X,Y,Z,Lap\n"
    )
    rows = table(
        "{},{:.3f},{:.7f},{:.7f},512.3,{:.2f},{:.3f},{:.3f},1.0,{:.0f}",
        range(1, len(c["s"]) + 1), c["timestamp"], c["lat"], c["lon"], c["kmh"], c["g_long"],
        c["g_lat"], c["lap"],
    )  # fmt: skip
    return (head + rows).encode()


def write_trackaddict(made: Drive) -> bytes:
    """Comments before and between the rows; unix time beside the time since the begin."""
    c = channels(made)
    head = (
        "# RaceRender Data: TrackAddict 4.8.2 on Android 14 [phone] (Mode: 0)\n"
        "# Vehicle: Pip 180\n# End Point: 47.000000, 8.000000  @ -1.00 deg\n"
        '"Time","UTC Time","Lap","Predicted Lap Time","Predicted vs Best Lap","GPS_Update",'
        '"GPS_Delay","Latitude","Longitude","Altitude (m)","Altitude (ft)","Speed (MPH)","Heading",'
        '"Accuracy (m)","Accel X","Accel Y","Accel Z","Brake (calculated)",'
        '"Engine Speed (RPM) *OBD","Throttle Position (%) *OBD"\n'
    )
    rows = table(
        "{:.3f},{:.3f},{:.0f},0,0,1,0.010,{:.7f},{:.7f},500.0,1640.4,{:.2f},{:.1f},1.5,{:.2f},"
        "{:.2f},0.01,{:d},{:.0f},{:.1f}",
        c["s"], c["timestamp"], c["lap"], c["lat"], c["lon"], c["speed_ms"] * MPH, c["course"],
        c["g_lat"], c["g_long"], (c["brake_bar"] > 0).astype(int), c["rpm"], c["throttle_pct"],
    )  # fmt: skip
    body = rows.splitlines(keepends=True)
    return (head + "".join([*body[:500], "# Lap 1: 00:00:41.200\n", *body[500:]])).encode()


def write_harrys(made: Drive) -> bytes:
    """The day in one column, the time of day in another."""
    c = channels(made)
    head = (
        "Harry's GPS LapTimer\nINDEX,LAPINDEX,DATE,TIME,TIME_LAP,LATITUDE,LONGITUDE,SPEED_KPH,"
        "SPEED_MPH,HEIGHT_M,HEIGHT_FT,HEADING_DEG,GPSDIFFERENTIAL[UNKNOWN/2D3D/DGPS/INVALID],"
        "GPSFIX[NOFIX/2D/3D/UNKNOWN],SATELLITES,HDOP,ACCURACY_M,DISTANCE_KM,"
        "ACCELERATIONSOURCE[CALCULATED/MEASURED/UNDEFINED],LATERALG,LINEALG,LEAN,RPM,THROTTLE\n"
    )
    rows = table(
        "{},{:.0f},{},0.0,{:.7f},{:.7f},{:.6f},{:.6f},740.0,2427.8,{:.1f},2,3,11,0.7,4.9,0,1,"
        "{:.2f},{:.2f},8.5,{:.0f},{:.1f},",
        range(9, 9 + len(c["s"])), c["lap"], moments(c["timestamp"], "%d-%b-%y,%H:%M:%S.%f"),
        c["lat"], c["lon"], c["kmh"], c["speed_ms"] * MPH, c["course"], c["g_lat"], c["g_long"],
        c["rpm"], c["throttle_pct"],
    )  # fmt: skip
    return (head + rows).encode()


def write_torque(made: Drive) -> bytes:
    """Two clocks, the finer one last; a dash where the car did not answer."""
    c = channels(made)
    head = (
        "GPS Time, Device Time, Longitude, Latitude,GPS Speed (Meters/second), Horizontal Dilution "
        "of Precision, Altitude, Bearing, G(x), G(y), G(z), G(calibrated),Engine RPM(rpm),"
        "Speed (OBD)(km/h),Throttle Position(Manifold)(%)\n"
    )
    rpm = [f"{v:.2f}" if i % 7 else "-" for i, v in enumerate(c["rpm"])]
    rows = table(
        "{},{},{:.8f},{:.8f},{:.3f},4.0,500.0,{:.1f},0.1,0.2,9.8,0.01,{},{:.0f},{:.1f}",
        moments(c["timestamp"], "%a %b %d %H:%M:%S GMT+00:00 %Y"),
        moments(c["timestamp"], "%d-%b-%Y %H:%M:%S.%f"), c["lon"], c["lat"], c["speed_ms"],
        c["course"], rpm, c["kmh"], c["throttle_pct"],
    )  # fmt: skip
    return (head + rows).encode()


def write_aim(made: Drive) -> bytes:
    """Units under the names, a blank line under both; beacons in the head."""
    c = channels(made)
    passed = lines_passed(made)
    begun = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    beacons = ",".join(f'"{t:.3f}"' for t in [*passed, c["s"][-1] + 0.05])
    head = (
        '"Format","AiM CSV File"\n"Session","Hollow"\n"Vehicle","Pip 180"\n"Racer","Mia"\n'
        f'"Championship",""\n"Comment",""\n"Date","{begun:%A, %B %d, %Y}"\n'
        f'"Time","{begun:%I:%M %p}"\n"Sample Rate","20"\n"Duration","{c["s"][-1]:.3f}"\n'
        f'"Segment","Session"\n"Beacon Markers",{beacons}\n"Segment Times","0:41.200"\n\n'
        '"Time","GPS Speed","GPS LatAcc","GPS LonAcc","GPS Latitude","GPS Longitude","GPS Heading",'
        '"RPM","PPS","Brake Press"\n"sec","km/h","g","g","deg","deg","deg","rpm","%","bar"\n\n'
    )
    row = (
        '"{:.3f}","{:.4f}","{:.4f}","{:.4f}","{:.7f}","{:.7f}","{:.2f}","{:.0f}","{:.1f}","{:.2f}"'
    )
    rows = table(
        row, c["s"], c["kmh"], c["g_lat"], c["g_long"], c["lat"], c["lon"], c["course"], c["rpm"],
        c["throttle_pct"], c["brake_bar"],
    )  # fmt: skip
    return (head + rows).replace("\n", "\r\n").encode("cp1252")


def write_aim_abroad(made: Drive) -> bytes:
    """The same with semicolons and decimal commas, no quotes, and no line between head and names.

    The beacons are as many as there are columns.
    """
    text = write_aim(made).decode("cp1252").replace("\r\n\r\n", "\r\n")
    return text.replace(", ", " ").replace('"', "").replace(",", ";").replace(".", ",").encode()


def write_distances(made: Drive) -> bytes:
    """An export over distance: only the head says when."""
    c = channels(made)
    head = (
        "Format,MoTeC CSV File\nVenue,Hollow\nSample Rate,20\n\n"
        "Distance,Ground Speed,GPS Latitude,GPS Longitude\nm,km/h,deg,deg\n\n"
    )
    way = np.interp(c["timestamp"], made.t, made.path_m)
    row = "{:.2f},{:.3f},{:.7f},{:.7f}"
    return (head + table(row, way - way[0], c["kmh"], c["lat"], c["lon"])).encode()


def write_motec(made: Drive) -> bytes:
    """Everything between quotes; pairs beside pairs in the head."""
    c = channels(made)
    begun = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    head = (
        '"Format","MoTeC CSV File",,,"Workbook",""\n"Venue","Hollow",,,"Worksheet",""\n'
        '"Vehicle","Pip 180",,,"Vehicle Desc",""\n"Driver","Mia",,,"Engine ID",""\n'
        '"Device","ADL"\n"Comment","",,,"Session",""\n'
        f'"Log Date","{begun:%d/%m/%Y}",,,"Origin Time","0.000","s"\n'
        f'"Log Time","{begun:%H:%M:%S}",,,"Start Time","0.000","s"\n'
        '"Sample Rate","20.000","Hz",,"End Time","200.000","s"\n"Duration","200.000","s"\n'
        '"Range","entire outing"\n"Beacon Markers",""\n\n\n'
        '"Time","Ground Speed","G Force Lat","G Force Long","GPS Latitude","GPS Longitude",'
        '"Engine RPM","Throttle Pos","Brake Pres Front","Steered Angle"\n'
        '"s","km/h","G","G","deg","deg","rpm","%","kPa","deg"\n\n\n'
    )
    row = ",".join(['"{}"'] * 10)
    texts = [[f"{v:.4f}" for v in values] for values in (c["s"], c["kmh"], c["g_lat"], c["g_long"])]
    places = [[f"{v:.7f}" for v in c[name]] for name in ("lat", "lon")]
    rest = [
        [f"{v:.2f}" for v in values]
        for values in (c["rpm"], c["throttle_pct"], c["brake_bar"] * 100, c["g_lat"] * 20)
    ]
    return (head + table(row, *texts, *places, *rest)).replace("\n", "\r\n").encode()


def write_racechrono_2(made: Drive) -> bytes:
    """Sources behind the names; names of traps between the numbers."""
    c = channels(made)
    head = (
        "This file is created using RaceChrono Pro v5.0 ( http://racechrono.com/ ).\nFormat,2\n"
        'Session title,"Hollow"\nSession type,Lap timing\nTrack name,"Hollow"\nDriver name,Mia\n'
        "Export scope,Whole session\nCreated,28/05/2026,20:26\nNote,\n\n"
        "Time (s),Session fragment #,Lap #,Trap name,X-position (m),Y-position (m),Distance (m),"
        "Speed (m/s),Altitude (m),Bearing (deg),Device update rate (Hz),Elapsed time (s),"
        "Latitude (deg),Longitude (deg),Satellites (sats),Fix type,Accuracy (m),Speed (m/s) *calc,"
        "Lateral acceleration (G) *calc,Longitudinal acceleration (G) *calc,RPM (rpm) *obd,"
        "Throttle position (%) *obd\n"
    )
    traps = ["Start/Finish" if i in (7, 90) else "" for i in range(len(c["s"]))]
    rows = table(
        "{:.3f},0,{:.0f},{},0.0,0.0,0.0,{:.4f},500.0,{:.2f},20.0,{:.3f},{:.7f},{:.7f},12,3,0.4,"
        "{:.4f},{:.4f},{:.4f},{:.1f},{:.1f}",
        c["timestamp"], c["lap"], traps, c["speed_ms"], c["course"], c["s"], c["lat"], c["lon"],
        c["speed_ms"], c["g_lat"], c["g_long"], c["rpm"], c["throttle_pct"],
    )  # fmt: skip
    return b"\xef\xbb\xbf" + (head + rows).encode()


def write_car_scanner(made: Drive) -> bytes:
    """One reading a row; seconds of the day, and the place of each."""
    c = channels(made)
    day = c["timestamp"] % 86_400.0
    lines = ['"SECONDS";"PID";"VALUE";"UNITS";"LATITUDE";"LONGTITUDE";']
    for t, lat, lon, kmh, rpm, pedal in zip(
        day, c["lat"], c["lon"], c["kmh"], c["rpm"], c["throttle_pct"], strict=True
    ):
        place = f'"{lat:.7f}";"{lon:.7f}";'
        lines.append(f'"{t:.6f}";"Speed (GPS)";"{kmh:.3f}";"km/h";{place}')
        lines.append(f'"{t:.6f}";"Engine RPM";"{rpm:.1f}";"rpm";{place}')
        lines.append(f'"{t:.6f}";"Throttle position";"{pedal:.1f}";"%";{place}')
    return "\r\n".join([*lines, ""]).encode()


def write_obd_fusion(made: Drive) -> bytes:
    """The begin in a comment, seconds in the rows."""
    c = channels(made)
    begun = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    head = (
        f"# StartTime = {begun:%m/%d/%Y %I:%M:%S}.0000 {begun:%p}\n"
        "Time (sec), Latitude (deg), Longitude (deg), GPS Speed (MPH), Engine RPM (RPM), "
        "Absolute throttle position (%)\n"
    )
    rows = table(
        "{:.3f}, {:.7f}, {:.7f}, {:.3f}, {:.1f}, {:.1f}",
        c["s"], c["lat"], c["lon"], c["speed_ms"] * MPH, c["rpm"], c["throttle_pct"],
    )  # fmt: skip
    return (head + rows).encode()


def write_vbox_csv(made: Drive) -> bytes:
    """As a VBO file counts: packed times of day, minutes of arc, longitudes to the west."""
    c = channels(made)
    head = "Satellites,Time,Latitude,Longitude,Velocity (km/h),Heading (degrees),Height (m)\n"
    rows = table(
        "9,{},{:+.6f},{:+.6f},{:.3f},{:.2f},500.0", moments(c["timestamp"], "%H%M%S.%f"),
        c["lat"] * 60, c["lon"] * -60, c["kmh"], c["course"],
    )  # fmt: skip
    return (head + rows).encode()


def write_racecapture(made: Drive) -> bytes:
    """Names, units and limits between bars; cells are empty where a slower channel says nothing."""
    c = channels(made)
    head = (
        '"Interval"|"ms"|0|0|1,"Utc"|"ms"|0|0|1,"AccelX"|"G"|-3.0|3.0|20,"RPM"|""|0.0|10000.0|20,'
        '"Latitude"|"Degrees"|-180.0|180.0|20,"Longitude"|"Degrees"|-180.0|180.0|20,'
        '"Speed"|"KPH"|0.0|300.0|20\n'
    )
    rows = []
    for i, (t, lat, lon, kmh, rpm) in enumerate(
        zip(c["timestamp"], c["lat"], c["lon"], c["kmh"], c["rpm"], strict=True)
    ):
        ms = round(t * 1000)
        rows.append(f"{i * 50},{ms},,,{lat:.7f},{lon:.7f},{kmh:.3f}\n")
        rows.append(f"{i * 50 + 20},{ms + 20},0.01,{rpm:.1f},,,\n")
    return (head + "".join(rows)).encode()


def write_semicolons(made: Drive) -> bytes:
    """An unknown program of a country that writes decimal commas, in UTF-16."""
    c = channels(made)
    head = "Von Hand;;;;;\nTime;Latitude;Longitude;Speed [km/h];Brake Pressure [psi];Throttle\n"
    text = head + table(
        "{};{:.7f};{:.7f};{:.3f};{:.2f};{:.3f}", moments(c["timestamp"], "%H:%M:%S.%f"), c["lat"],
        c["lon"], c["kmh"], c["brake_bar"] / 0.0689476, c["throttle_pct"] / 100,
    ).replace(".", ",")  # fmt: skip
    return text.encode("utf-16")


def write_quoted_commas(made: Drive) -> bytes:
    """Decimal commas between quotes, milliseconds since 1970, tabs nowhere."""
    c = channels(made)
    row = ",".join(['"{}"'] * 4)
    texts = [[f"{v:.7f}".replace(".", ",") for v in c[name]] for name in ("lat", "lon", "speed_ms")]
    ms = [f"{t * 1000:.0f}" for t in c["timestamp"]]
    return ("timestamp,lat,lon,speed\n,deg,deg,m/s\n" + table(row, ms, *texts)).encode()


def write_tabs(made: Drive) -> bytes:
    """Tabs, a column of switches, and a name in an old encoding."""
    c = channels(made)
    head = (
        "Fahrer: J\u00fcrgen\n\nelapsed_time\tlat\tlng\tvelocity\tbrake_pressed\n"
        "s\t\u00b0\t\u00b0\tm/s\t\n"
    )
    on = np.where(c["brake_bar"] > 1, "true", "false")
    rows = table(
        "{:.3f}\t{:.7f}\t{:.7f}\t{:.3f}\t{}", c["s"], c["lat"], c["lon"], c["speed_ms"], on
    )
    return (head + rows).encode("cp1252")


def write_nmea(made: Drive) -> bytes:
    """GGA, RMC with the date, and a sentence that nobody needs."""
    c = channels(made)
    lines = []
    for t, lat, lon, speed, course in zip(
        moments(c["timestamp"], "%d%m%y %H%M%S.%f"), c["lat"], c["lon"], c["speed_ms"], c["course"],
        strict=True,
    ):  # fmt: skip
        day, clock = t.split()
        north = f"{int(lat):02d}{lat % 1 * 60:08.5f},N"
        east = f"{int(lon):03d}{lon % 1 * 60:08.5f},E"
        for text in (
            f"GPGGA,{clock},{north},{east},1,12,0.8,500.0,M,48.0,M,,",
            f"GPRMC,{clock},A,{north},{east},{speed * 3600 / 1852:.3f},{course:.2f},{day},,,A",
            "GPGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1",
        ):
            total = 0
            for letter in text:
                total ^= ord(letter)
            lines.append(f"${text}*{total:02X}\r\n")
    return "".join(lines).encode()


def write_gpx(made: Drive) -> bytes:
    """A track in two segments with the extension of a watch."""
    c = channels(made)
    texts = moments(c["timestamp"], "%Y-%m-%dT%H:%M:%S.%fZ")
    points = [
        f'<trkpt lat="{lat:.7f}" lon="{lon:.7f}"><ele>500.1</ele><time>{t}</time><extensions>'
        f"<g:TrackPointExtension><g:speed>{v:.3f}</g:speed><g:hr>140</g:hr>"
        "</g:TrackPointExtension></extensions></trkpt>\n"
        for t, lat, lon, v in zip(texts, c["lat"], c["lon"], c["speed_ms"], strict=True)
    ]
    middle = len(points) // 2
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="a test" '
        'xmlns="http://www.topografix.com/GPX/1/1" '
        'xmlns:g="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">'
        '<wpt lat="1" lon="2"><ele>3</ele></wpt><trk><name>Hollow</name><trkseg>\n'
        + "".join(points[:middle])
        + "</trkseg><trkseg>\n"
        + "".join(points[middle:])
        + "</trkseg></trk></gpx>\n"
    ).encode()


def write_fit(made: Drive) -> bytes:
    """GPS messages of a camera, whose times have milliseconds, and slower records of a watch."""
    c = channels(made)
    since = c["timestamp"] - 631_065_600

    def define(local: int, number: int, *fields: tuple[int, int, int]) -> bytes:
        head = struct.pack("<BBBHB", 0x40 | local, 0, 0, number, len(fields))
        return head + b"".join(struct.pack("BBB", *field) for field in fields)

    parts = [
        define(0, 0, (0, 1, 0x00), (4, 4, 0x86)),
        struct.pack("<BBI", 0, 4, int(since[0])),
        define(1, 160, (253, 4, 0x86), (0, 2, 0x84), (1, 4, 0x85), (2, 4, 0x85), (4, 4, 0x86)),
        define(2, 20, (253, 4, 0x86), (3, 1, 0x02), (6, 2, 0x84)),
        define(3, 19, (253, 4, 0x86), (2, 4, 0x86), (7, 4, 0x86), (24, 1, 0x00)),
    ]
    for i, (t, lat, lon, v) in enumerate(
        zip(since, c["lat"], c["lon"], c["speed_ms"], strict=True)
    ):
        second, ms = divmod(round(float(t) * 1000), 1000)
        places = (round(float(one) * 2**31 / 180) for one in (lat, lon))
        parts.append(struct.pack("<BIHiiI", 1, second, ms, *places, round(float(v) * 1000)))
        if i % 20 == 0:
            parts.append(struct.pack("<BIBH", 2, second, 140, 0xFFFF))
    data = b"".join(parts)
    return struct.pack("<BBHI4sH", 14, 0x20, 2132, len(data), b".FIT", 0) + data + b"\0\0"


def write_ld(made: Drive) -> bytes:
    """Channels of several rates and kinds of numbers, one after the other."""
    c = channels(made)
    begun = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    kinds = {
        "GPS Latitude": (c["lat"], "deg", 8, 8, "<f8", 1, 0),
        "GPS Longitude": (c["lon"], "deg", 8, 8, "<f8", 1, 0),
        "Ground Speed": (c["kmh"], "km/h", 7, 4, "<f4", 1, 0),
        "G Force Lat": (c["g_lat"], "G", 3, 2, "<i2", 1, 3),
        "G Force Long": (c["g_long"], "G", 3, 2, "<i2", 1, 3),
        "Throttle Pos": (c["throttle_pct"][::2], "%", 5, 4, "<i4", 1, 1),
        "Brake Pres Front": (c["brake_bar"] * 100, "kPa", 7, 4, "<f4", 1, 0),
    }
    head = bytearray(1762)
    struct.pack_into("<I4xII", head, 0, 0x40, 1762, 1762 + 124 * len(kinds))
    struct.pack_into("<16s16x16s16x64s64s64x64s", head, 94, f"{begun:%d/%m/%Y}".encode(),
                     f"{begun:%H:%M:%S}".encode(), b"Mia", b"Pip 180", b"Hollow")  # fmt: skip
    abouts, data = [], b""
    for i, (name, (values, unit, family, width, form, scale, decimals)) in enumerate(kinds.items()):
        place, begin = 1762 + 124 * i, 1762 + 124 * len(kinds) + len(data)
        after = place + 124 if i + 1 < len(kinds) else 0
        raw = values * scale * 10**decimals
        raw = raw.round() if form[1] == "i" else raw
        hz = 10 if len(values) < len(c["s"]) else 20
        abouts.append(
            struct.pack("<4I4H4h32s8s12s40x", place - 124 if i else 0, after, begin, len(values),
                        i, family, width, hz, 0, 1, scale, decimals, name.encode(),
                        name[:7].encode(), unit.encode())
        )  # fmt: skip
        data += raw.astype(form).tobytes()
    return bytes(head) + b"".join(abouts) + data


def write_rcz(made: Drive) -> bytes:
    """An archive with a receiver and a car that answers twice a second."""
    c = channels(made)
    begin = round(float(c["timestamp"][0]) * 1000)
    ms = (c["timestamp"] * 1000).round().astype("<i8")
    passed = [begin + round(float(t) * 1000) for t in lines_passed(made)]
    laps = [
        {"number": i + 1, "startTimestamp": a, "finishTimestamp": b}
        for i, (a, b) in enumerate(pairwise(passed))
    ]
    pairs = np.stack([c["lat"], c["lon"]], axis=1) * 6_000_000
    some = slice(None, None, 10)
    session = {"version": 1, "firstTimestamp": begin, "trackName": "Hollow", "laps": laps}
    files: dict[str, Numbers] = {
        "channel_1_100_0_1_1": ms,
        "channel_1_100_0_3_1": pairs.round().astype("<i4"),
        "channel_1_100_0_4_0": (c["speed_ms"] * 1000).round().astype("<i4"),
        "channel_1_100_0_6_0": (c["course"] * 1000).round().astype("<i4"),
        "channel_5_200_10025_1_1": ms[some],
        "channel2_5_200_10025_10025_3": c["throttle_pct"][some].astype("<f8"),
        "channel_5_200_10024_1_1": ms[some],
        "channel2_5_200_10024_10024_3": c["rpm"][some].astype("<f8"),
    }  # fmt: skip
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("session.json", json.dumps(session))
        archive.writestr("sessionfragment.json", '{"version": 1}')
        for name, values in files.items():
            archive.writestr(name, values.tobytes())
    return packed.getvalue()


def write_ibt(made: Drive) -> bytes:
    """Rows of packed variables; accelerations and steering to the left, pedals from 0 to 1."""
    c = channels(made)
    variables = {
        "SessionTime": (5, "s", c["s"] + 77.0),
        "Lap": (2, "", c["lap"]),
        "Lat": (5, "deg", c["lat"]),
        "Lon": (5, "deg", c["lon"]),
        "Speed": (4, "m/s", c["speed_ms"]),
        "LatAccel": (4, "m/s^2", c["g_lat"] * -9.80665),
        "LongAccel": (4, "m/s^2", c["g_long"] * 9.80665),
        "Throttle": (4, "%", c["throttle_pct"] / 100),
        "LFbrakeLinePress": (4, "bar", c["brake_bar"]),
        "RPM": (4, "revs/min", c["rpm"]),
        "OnPitRoad": (1, "", c["rpm"] * 0),
    }
    forms = {1: "?", 2: "<i4", 4: "<f4", 5: "<f8"}
    about, fields, width = b"", [], 0
    for name, (kind, unit, _) in variables.items():
        about += struct.pack("<3i?3x32s64s32s", kind, width, 1, False, name.encode(), b"",
                             unit.encode())  # fmt: skip
        fields.append((name, forms[kind], width))
        width += np.dtype(forms[kind]).itemsize
    rows = np.zeros(len(c["s"]), np.dtype({
        "names": [name for name, _, _ in fields], "formats": [form for _, form, _ in fields],
        "offsets": [at for _, _, at in fields], "itemsize": width,
    }))  # fmt: skip
    for name, (_, _, values) in variables.items():
        rows[name] = values
    text = (
        b"---\nWeekendInfo:\n TrackName: hollow\n TrackDisplayName: Hollow\nDriverInfo:\n"
        b" DriverCarIdx: 7\n Drivers:\n - CarIdx: 1\n   UserName: Tom\n - CarIdx: 7\n"
        b"   UserName: Mia\n   CarScreenName: Pip 180\n..."
    )
    variables_at = 144
    text_at = variables_at + len(about)
    head = struct.pack("<10i8x4i48x", 2, 1, 20, 0, len(text), text_at, len(variables),
                       variables_at, 1, width, 0, text_at + len(text), 0, 0)  # fmt: skip
    disk = struct.pack("<qddii", int(c["timestamp"][0]), 77.0, 77.0 + c["s"][-1], 3, len(rows))
    return head + disk + about + text + rows.tobytes()


SENSORS: Final = frozenset(("g_lat", "g_long", "throttle_pct", "brake_bar"))


def write_vbo(path: Path, made: Drive, more: Mapping[str, Numbers] | None = None) -> None:
    """A VBO file, with *more* columns; seconds count from midnight, longitudes to the west."""
    c, more = channels(made), more or {}
    start = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    seconds = c["timestamp"] - midnight
    clock = 10_000 * (seconds // 3600) + 100 * (seconds // 60 % 60) + seconds % 60
    rows = table(
        "009 {:010.3f} {:+.6f} {:+.6f} {:07.3f} {:06.2f} " + " ".join(["{:+.4E}"] * len(more)),
        clock, c["lat"] * 60, c["lon"] * -60, c["kmh"], c["course"], *more.values(),
    )  # fmt: skip
    head = _VBO_HEAD.format(
        when=start.strftime("%d/%m/%Y @ %H:%M:%S"),
        names=" ".join(more),
        extra="".join(f"{name}\n" for name in more),
    )
    path.write_bytes((head + rows).replace("\n", "\r\n").encode("cp1252"))


def write_racechrono(path: Path, made: Drive) -> None:
    """A CSV export of format 3; the second speed is the dashboard's, which shows 4 % more."""
    c = channels(made)
    start = datetime.fromtimestamp(float(c["timestamp"][0]), UTC)
    columns = (c[name] for name in ("timestamp", "lat", "lon", "speed_ms"))
    rows = table("{:.3f},0,,{:.7f},{:.7f},12,{:.3f},{:.3f}", *columns, c["speed_ms"] * 1.04)
    head = _RACECHRONO_HEAD.format(when=start.strftime("%d/%m/%Y,%H:%M"))
    path.write_text(head + rows, encoding="utf-8")


def _without(*names: str) -> frozenset[str]:
    return frozenset(names)


EXPORTS: Final[dict[str, Export]] = {
    "racebox": Export(".csv", "racebox", write_racebox, _without("throttle_pct", "brake_bar")),
    "racebox-render": Export(
        ".csv", "racebox", write_racebox_render, _without("throttle_pct", "brake_bar")
    ),
    "trackaddict": Export(".csv", "trackaddict", write_trackaddict, _without("brake_bar")),
    "harrys": Export(".csv", "harrys_laptimer", write_harrys, _without("brake_bar")),
    "torque": Export(".csv", "torque", write_torque, _without("g_lat", "g_long", "brake_bar")),
    "aim-csv": Export(".csv", "aim_race_studio", write_aim),
    "aim-abroad": Export(".csv", "aim_race_studio", write_aim_abroad),
    "distances": Export(".csv", "motec_i2", write_distances, SENSORS),
    "motec-csv": Export(".csv", "motec_i2", write_motec),
    "racechrono-2": Export(".csv", "racechrono_2", write_racechrono_2, _without("brake_bar")),
    "car-scanner": Export(
        ".csv", "car_scanner", write_car_scanner, _without("g_lat", "g_long", "brake_bar")
    ),
    "obd-fusion": Export(
        ".csv", "obd_fusion", write_obd_fusion, _without("g_lat", "g_long", "brake_bar")
    ),
    "vbox-csv": Export(".csv", "vbox", write_vbox_csv, SENSORS),
    "racecapture": Export(".log", "racecapture", write_racecapture, SENSORS),
    "semicolons": Export(".csv", "csv", write_semicolons, _without("g_lat", "g_long")),
    "quoted-commas": Export(".csv", "csv", write_quoted_commas, SENSORS),
    "tabs": Export(".txt", "csv", write_tabs, SENSORS),
    "nmea": Export(".nmea", "nmea", write_nmea, SENSORS),
    "nmea-txt": Export(".txt", "nmea", write_nmea, SENSORS),
    "gpx": Export(".gpx", "gpx", write_gpx, SENSORS),
    "fit": Export(".fit", "fit", write_fit, SENSORS),
    "motec-ld": Export(".ld", "motec_ld", write_ld),
    "rcz": Export(".rcz", "racechrono_rcz", write_rcz, SENSORS - {"throttle_pct"}),
    "ibt": Export(".ibt", "ibt", write_ibt),
}
"""By name; the rest of a name tells files of one program apart."""
