from math import acos, degrees, sqrt


def dot(a: list[float], b: list[float]) -> float:
    """Sum of the products of matching entries."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a: list[float], b: list[float]) -> float:
    """1 for the same direction, 0 for a right angle, -1 for opposite ones."""
    return dot(a, b) / (sqrt(dot(a, a)) * sqrt(dot(b, b)))


question = [3.0, 4.0]
for name, note in (("A", [4.0, 3.0]), ("B", [8.0, 6.0]), ("C", [-4.0, 3.0])):
    score = cosine(question, note)
    print(f"note {name}: cosine {score:.2f}, angle {degrees(acos(score)):5.1f} degrees")
