print("distance 150 m, speed 61 km/h")
