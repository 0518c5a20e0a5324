"""What ten percent less speed buys."""

FULL_KMH = 160.0
MASS_KG = 1200.0

print("share  km/h  energy_kJ  of_full  margin")
for share in (1.0, 0.95, 0.9, 0.8):
    speed_ms = share * FULL_KMH / 3.6
    energy_kj = 0.5 * MASS_KG * speed_ms**2 / 1000
    of_full = share**2
    print(
        f"{share:5.0%}  {speed_ms * 3.6:4.0f}  {energy_kj:9.0f}"
        f"  {of_full:7.0%}  {1 - of_full:6.0%}"
    )
