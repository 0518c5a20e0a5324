"""Where on the straight a lift of one second hurts most."""

print("lift_at_m  brake_at_m  lost_s")
for lift_m in (50, 200, 350, 490):
    time_s, brake_m = straight_s(lift_m, 1.0)
    print(f"{lift_m:9}  {brake_m:10.0f}  {time_s - base_s:6.2f}")
time_s, brake_m = straight_s(490, 1.0, marker_m)
print(f"{490:9}  {brake_m:10.0f}  {time_s - base_s:6.2f}  (usual brake point)")
