"""Read one pair of fixes in two ways and let the speed column decide."""

from math import cos, hypot, radians

METRES_PER_MINUTE = 1852.0  # one minute of latitude: the nautical mile
FIRST = (3026.23200, -358.28824)  # lat, long at 09:59:59.80
SECOND = (3026.23200, -358.29248)  # 0.10 s later
STEP_S = 0.10
LOGGED_KMH = 180.00


def total_minutes(value: float) -> float:
    """Return degrees when the number counts minutes of arc."""
    return value / 60


def packed_minutes(value: float) -> float:
    """Return degrees when the number is degrees and minutes, ddmm.mmmm."""
    degrees, minutes = divmod(abs(value), 100)
    size = degrees + minutes / 60
    return size if value >= 0 else -size


def path_kmh(lat_deg: float) -> float:
    """Return the speed between the two fixes; both readings move the same minutes."""
    north_m = (SECOND[0] - FIRST[0]) * METRES_PER_MINUTE
    east_m = -(SECOND[1] - FIRST[1]) * METRES_PER_MINUTE * cos(radians(lat_deg))
    return hypot(north_m, east_m) / STEP_S * 3.6


print("reading        latitude  longitude  path_kmh  logged_kmh")
for label, read in (("total minutes", total_minutes), ("ddmm.mmmm", packed_minutes)):
    lat_deg, lon_deg = read(FIRST[0]), -read(FIRST[1])
    kmh = path_kmh(lat_deg)
    print(f"{label:13}  {lat_deg:8.3f}  {lon_deg:9.3f}  {kmh:8.1f}  {LOGGED_KMH:10.1f}")
