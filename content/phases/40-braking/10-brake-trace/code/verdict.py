print("lap  ramp s  hold s  release s  peak bar")
for name in "ABCD":
    e = brake_event(brake_bar[name])
    print(
        f"{name:>3} {e.full_s - e.start_s:7.2f} {e.release_s - e.full_s:7.2f}"
        f" {e.end_s - e.release_s:10.2f} {e.peak_bar:9.1f}"
    )
print()
print(HEADER)
for name in "ABCD":
    print(report(name))
