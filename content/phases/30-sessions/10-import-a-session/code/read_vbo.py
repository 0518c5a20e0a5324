"""Split a VBO text into its sections and print the rows by column name."""

VBO = """File created on 14/06/2025 @ 11:59:58
[header]
satellites
time
latitude
longitude
velocity kmh
Brake_Pressure
[channel units]
bar

[column names]
sats time lat long velocity Brake_Pressure

[data]
137 095959.80 +03026.23200 -00358.28824 180.00 +0.000E+00
137 095959.90 +03026.23200 -00358.29248 180.00 +1.850E+01
137 100000.00 +03026.23200 -00358.29667 176.47 +4.220E+01
073 100000.10 +03026.23200 -00358.30079 172.94 +4.410E+01
"""


def read_sections(text: str) -> dict[str, list[str]]:
    """Group the non-empty lines of a VBO text under their section name."""
    found: dict[str, list[str]] = {}
    name = "first line"
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip().strip("[]").lower()
        elif line.strip():
            found.setdefault(name, []).append(line)
    return found


sections = read_sections(VBO)
columns = sections["column names"][0].split()
print("time       speed_kmh  brake_bar  satellites  differential")
for line in sections["data"]:
    row = dict(zip(columns, line.split(), strict=True))
    sats, brake_bar = int(row["sats"]), float(row["Brake_Pressure"])
    fix = "yes" if sats & 128 else "no"
    print(f"{row['time']}  {row['velocity']:>9}  {brake_bar:9.2f}", end="  ")
    print(f"{sats & 63:10d}  {fix:>12}")
