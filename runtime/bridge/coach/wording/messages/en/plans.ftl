# What to do next: technique, targets, drills, plans of a run, what-ifs, lines for the radio.

technique = { $corner }, technique in general: { $spot ->
    [entry] brake firmly in a straight line, then ease the brake off as the steering builds
    [apex] slow in, eyes on the exit before the apex, one calm steering movement
   *[exit] turn in later for a later apex, wait with the throttle until the steering opens, then squeeze it on
}.{ advice-danger }
tips-repeat = Next: repeat the best lap { $count } times in a row; then compare again.
tips-more = Next: { $count } laps in a row, as alike as possible, so that there is something to compare.
target = { $corner } has worked when { $count } laps in a row show { $cause ->
    [early_brake] a brake point at { $aim } before the corner, not { $now }
    [late_brake] a brake point at { $aim } before the corner, not { $now }
    [long_brake] { $aim } of peak brake pressure, not { $now }
    [coasting] { $aim } of coasting or less, not { $now }
    [slow_apex] at least { $aim } at the slowest point, not { $now }
    [slow_entry] at least { $aim } at the entry, not { $now }
    [early_slowing] at least { $aim } at the entry, not { $now }
    [late_throttle] at least { $aim } at the exit, not { $now }
    [part_throttle] full throttle { $aim } after the apex, not { $now }
    [slow_exit] at least { $aim } at the exit, not { $now }
    [match] the time of the quicker pass
   *[none] the same brake point and the same speed
}.
drill = Drill for { $corner }, { $count } laps: { $cause ->
    [early_brake] from { $now } move the brake point at most { $step } a lap towards { $aim }; one step back if the apex is missed
    [late_brake] start the braking at { $aim }, and let the car settle before turning in
    [long_brake] press harder at the start and ease off earlier, a little more each lap
    [coasting] say “off” when the brake is released and “on” when the throttle opens; bring the two words closer each lap
    [slow_apex] carry a little more speed to the apex each lap; one step back when the car runs wide
    [slow_entry] think only of the exit of the corner before, and leave the rest as it is
    [early_slowing] pick a mark beside the track and keep the speed up to it; the mark a little later each lap
    [late_throttle] open the steering first, then the throttle; a little earlier each lap, back if the steering must close again
    [part_throttle] say “on” when the throttle opens and “full” when it is down; bring the two words closer each lap, back if the steering must close again
    [slow_exit] turn in a little later each lap, and touch the inside later
    [match] repeat the quicker pass, with its brake point and its speed
   *[none] same brake point, same speed, every lap
}.{ advice-danger }
plan-laps = Plan for { $count } laps: { $warm } to warm up, { $focus } with a focus{ plan-focus }, { $cool } to cool down before the box.
plan-run = { $minutes } are about { $count } laps at { $usual }: { $warm } to warm up, { $focus } with a focus{ plan-focus }, { $cool } to cool down before the box.
plan-short = Time for { laps-counted } at most: warm up, drive easily, come in; no focus lap fits in.
plan-focus = { $both ->
    [0] { "" }
    [1] { "" } ({ $corner })
   *[other] { "" } (first half { $corner }, second half { $next })
}
traffic = In traffic: back off until there is a gap, give room, let quicker cars past; laps with traffic do not count, and no time is chased.
traffic-focus = The plan stays: { $corner } is worked on only with a clear road.
what-if = { $amount } more through { $corner } would gain about { $gain } in the corner: an estimate from lap { $lap }, not a promise.
what-if-lap = Every lap like lap { $lap } would have { $side ->
    [lost] cost
   *[saved] saved
} { $saved } over { $count } laps, { $each } a lap.
over-laps = Over { $count } laps: { $total }, { $count } times { $each }; an estimate.
what-if-mended = { $corners }: up to { $total } a lap, what is lost there { loss-basis }: an estimate, not a promise; the lap would then take about { $after }.
what-if-brake = Braking { $amount } later at { $corner } would gain about { $gain }: an estimate from lap { $lap }, if the corner is still met.
what-if-grip = It would take about { $need } sideways; the most in any corner so far was { $most }, so { $room ->
    [yes] there seems to be room
   *[no] there is no room that this session has shown
}.
what-if-build = Build up to it in small steps; one step back as soon as the car slides or runs wide.{ advice-danger }
voice-line = { $corner }: { $action }{ $cause ->
    [early_brake] , at { $aim }
    [late_brake] , at { $aim }
   *[other] {""}
}.
brief-circuit = Without a session of this driver: { $circuit }, the active circuit.
