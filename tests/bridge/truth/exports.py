"""Writes a drive as the files of loggers and programs, each in its own words.

None of the writers shares anything with the readers. The headers are those that the programs
write; what they say of the session is made up.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np

from tests.bridge.truth.circuits import Numbers
from tests.bridge.truth.drives import Drive

KMH: Final = 3.6
MPH: Final = 1 / 0.44704


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


SENSORS: Final = frozenset(("g_lat", "g_long", "throttle_pct", "brake_bar"))


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
}
"""By name; the rest of a name tells files of one program apart."""
