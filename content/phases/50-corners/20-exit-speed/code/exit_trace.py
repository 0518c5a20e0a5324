"""Three exits of one corner, from the apex to the end of the bend."""

# distance_m past the apex, then speed_kmh, throttle_pct and g_lat of laps 4, 6, 8
TRACE = """
 0   75.6   0 0.90   75.6  10 0.90   75.6  15 0.90
 5   75.1   1 0.83   75.6  18 0.84   76.4  50 0.86
10   74.6   2 0.77   76.2  35 0.80   78.2  65 0.84
15   74.2   3 0.70   77.3  48 0.76   80.5  80 0.83
20   73.8   5 0.64   79.0  60 0.74   83.0  75 0.81
25   73.5  12 0.58   81.0  70 0.71   84.2  12 0.77
30   74.1  40 0.54   83.4  80 0.68   84.1  11 0.70
35   75.6  60 0.51   86.0  90 0.66   84.0  10 0.62
40   77.9  80 0.48   89.0 100 0.62   84.4  40 0.56
45   81.0 100 0.45   92.0 100 0.58   85.7  55 0.51
50   84.3 100 0.42   94.9 100 0.53   87.4  70 0.45
55   87.5 100 0.38   97.7 100 0.47   89.7  85 0.40
60   90.6 100 0.32  100.4 100 0.40   92.4 100 0.34
65   93.5 100 0.26  102.9 100 0.31   95.3 100 0.27
70   96.4 100 0.18  105.3 100 0.22   98.1 100 0.19
75   99.1 100 0.10  107.6 100 0.11  100.8 100 0.10
80  101.7 100 0.00  109.8 100 0.00  103.3 100 0.00
"""
TABLE = [[float(x) for x in line.split()] for line in TRACE.strip().splitlines()]

Row = tuple[float, float, float, float]  # distance_m, speed_kmh, throttle_pct, g_lat
EXITS: dict[str, list[Row]] = {
    f"lap {lap}": [(row[0], row[i], row[i + 1], row[i + 2]) for row in TABLE]
    for lap, i in ((4, 1), (6, 4), (8, 7))
}

for lap, rows in EXITS.items():
    print(f"{lap}: exit {rows[-1][1]:.1f} km/h")
