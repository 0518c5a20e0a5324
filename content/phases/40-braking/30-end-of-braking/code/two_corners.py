turn_9 = [
    Pass(3402.0, 3478.5, 110.0, 3490.5),
    Pass(3403.5, 3480.0, 111.0, 3491.0),
    Pass(3401.5, 3477.0, 109.5, 3490.0),
]
turn_12 = [
    Pass(4310.0, 4390.0, 55.0, 4398.0),
    Pass(4311.5, 4391.0, 55.5, 4398.5),
    Pass(4309.5, 4388.5, 54.5, 4397.5),
]
straight_kmh = {"Turn 7": 180.0, "Turn 9": 170.0, "Turn 12": 150.0}

for name, passes in (("Turn 9", turn_9), ("Turn 12", turn_12)):
    # Add the mean nothing time and the most that a later brake point can gain.
    coast_m = mean(p.power_m - p.end_m for p in passes)
    print(f"{name}: {coast_m:.1f} m on neither pedal")
