# Three complaints. Per pass: lap, corner, phase, extra lock in degrees, yaw minus
# path yaw in °/s, and what was unusual in the driver's inputs there, if anything.
COMPLAINTS = {
    "it pushes in the middle": [
        (2, "T1", "middle", 21, 0.1, ""),
        (3, "T4", "middle", 24, -0.2, ""),
        (3, "T7", "middle", 19, 0.0, ""),
        (9, "T1", "middle", 22, 0.1, ""),
    ],
    "it will not turn into T4": [
        (5, "T4", "entry", 18, 0.3, "7 km/h faster at turn-in"),
        (6, "T4", "entry", 2, 0.1, ""),
        (7, "T4", "entry", 20, -0.1, "9 km/h faster at turn-in"),
        (7, "T1", "entry", 1, 0.2, ""),
    ],
    "the rear steps out": [
        (3, "T1", "exit", -3, 0.4, ""),
        (4, "T7", "exit", -2, 0.5, ""),
        (11, "T1", "exit", -31, 6.2, ""),
        (12, "T7", "exit", -27, 5.1, ""),
    ],
}

for complaint, passes in COMPLAINTS.items():
    print(f"{complaint}: {len(passes)} passes")
