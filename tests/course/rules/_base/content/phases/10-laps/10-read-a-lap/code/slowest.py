lap = [(0, 180), (50, 96), (100, 140), (150, 61), (200, 120)]
print(min(lap, key=lambda point: point[1]))
