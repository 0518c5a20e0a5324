debrief-partial = No complete lap yet: { $distance } in { $time } to learn from.
debrief-two-laps = Next: two whole laps, so that they can be compared.
debrief-record = New best here: { $best } on lap { $lap }, { $gained } quicker than before.
focus-item = { $corner }: { $action }
focus-consistency = consistency
focus-exit_speed = exit speed
brief-best = Best here so far: { $best }.
brief-improved = { $corner } has come on: { $points } points up on the sessions before.
brief-first = No lap here on file yet: build up over three laps.
brief-weakest = Weakest corner lately: { $corner }.
brief-goal = Goal: { $goal }. Keep in mind: { $items }.
goal-best = a personal best lap
goal-first = a first clean lap, by which the next ones are measured
read-lesson = To read before the next run: { $title }.
insight-title = { $cause }
insight-detail = { $of ->
    [one] { $seconds } a lap in { $corners }, the usual lap beside the best.
   *[other] { $seconds } a lap in { $corners }, the usual lap beside the best, in { $sessions } of { $of } sessions.
} Next: { $action }, first in { $corner }.
insight-metric = { $cause } in { $corner }
brief-slippery = The surface is not dry at this hour: build up first; what follows is for a dry track.
