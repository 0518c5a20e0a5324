"""Starter: time stamps of a position channel that promises 10 Hz."""

STAMPS_S = (
    "0.00 0.10 0.21 0.30 0.40 0.40 0.50 0.61 0.70 0.80 0.90 1.00 1.10 1.19 1.30 "
    "2.50 2.60 2.70 2.81 2.90 3.00 3.10 3.20 3.29 3.40 3.50 3.60 3.70 3.81 3.90"
)
times_s = [float(word) for word in STAMPS_S.split()]

span_s = times_s[-1] - times_s[0]
print(f"{len(times_s)} stamps in {span_s:.2f} s")
print(f"mean rate {(len(times_s) - 1) / span_s:.2f} Hz")
