# Where time is lost and by what, what was good, and what to do about it.

# On which lap, and against what: $basis, $lap (0: the usual lap), $other.
loss-basis = { $basis ->
    [usual] on lap { $lap } against the usual lap
    [driver] { $lap ->
        [0] on the usual lap against { $other }'s usual lap
       *[other] on lap { $lap } against { $other }'s best lap
    }
    [best_pass] on lap { $lap } against the best passes
   *[best_lap] { $lap ->
        [0] on the usual lap against the best lap
       *[other] on lap { $lap } against the best lap
    }
}
loss-one-lap = Only one complete lap and nobody to compare with: where time is lost shows from the second lap on.
loss-none = { loss-sector }No corner costs a measurable amount { loss-basis }.
loss-unmeasured = { $corner } was not recorded whole on both laps, so what it costs is not known.
loss-sector = { $sector ->
    [0] {""}
   *[other] Sector { $sector }:{" "}
}
group-left = left-handers
group-right = right-handers
group-slow = slow corners
group-fast = fast corners
loss-groups = Most is lost in the { $first }: { $first_lost } ({ $first_corners }); in the { $second } { $second_lost } ({ $second_corners }), { loss-basis }.
loss-total = { $gain } a lap in all: { $usual } on the usual lap, { $best } on the best (lap { $lap }).
loss-most = { $sector ->
    [0] { $corner } costs most
   *[other] In sector { $sector } { $corner } costs most
}: { $loss } { loss-basis }.
loss-spot = At the { $spot } { $corner } costs most: { $part } { loss-basis }.
loss-next = { $count ->
    [1] Next: { $corner }, { $loss }.
   *[other] Next: { $corner }, { $loss }, and { $next }, { $after }.
}
loss-corner = { $corner } costs { $loss } { loss-basis }.
loss-with-straight = With the straight after it { $corner } costs { $loss } { loss-basis }.
loss-even = { $corner } costs no measurable time { loss-basis }.
loss-gain = { $corner } gains { $loss } { loss-basis }.
loss-cause = Cause: { loss-by }{ $more ->
    [0] {""}
   *[other] ; also { $also }
}.
loss-by = { $cause ->
    [early_brake] braking { $amount } earlier
    [early_slowing] slowing down { $amount } earlier
    [late_brake] braking { $amount } later and running in too fast
    [long_brake] { $amount } less peak brake pressure, so a longer stop
    [coasting] { $amount } more coasting
    [slow_apex] { $amount } slower at the slowest point
    [slow_entry] { $amount } slower on the approach
    [late_throttle] accelerating { $amount } later
    [part_throttle] { $amount } later on full throttle
    [slow_exit] { $amount } slower at the exit
   *[none] no single one stands out
}
loss-parts = { $corner } in parts: entry { $entry }, apex { $apex }, exit and straight after it { $exit }.
pass-brake = { $corner }, brake point: { $own } before the corner, { loss-beside } { $best }.
pass-speed = { $corner }: slowest point { $low }, exit { $leave }; { loss-beside } { $best_low } and { $best_leave }.
loss-beside = { $basis ->
    [usual] usual lap
    [driver] { $other }
    [best_pass] best pass
   *[best_lap] best lap
}
choice = { $where ->
    [0] Whole lap
   *[other] { $corner }
}: entry { $entry }, exit { $exit } { loss-basis }. { $side ->
    [entry] The braking is worth more, so that first; the exit second
    [exit] The exit is worth more, so that first; the braking stays as it is
   *[neither] Neither the braking nor the exit costs time there
}.
summary-laps = { $count ->
    [one] One lap that counts: { $best }, lap { $best_lap }
   *[other] { $count } laps that count: best { $best } on lap { $best_lap }, usual { $usual }, spread { $spread }
}.
strong-quicker = { $corner } is a strength: { $loss } quicker than { $other }, best lap against best lap.
strong-steady = Steadiest corner: { $corner }, all { $count } passes within { $spread }.
strong-gained = Best lap { $gained } quicker than lap { $start }: lap { $best_lap } shows what is there.
strong-none = No strength can be shown yet: that takes three complete laps, or another driver.

action-brake_later = brake later
action-hold_speed = hold the speed a little longer
action-brake_harder = brake shorter, with more initial pressure
action-brake_earlier = brake a little earlier and let the car settle
action-stay_on_pedal = go from the brake to the throttle without rolling in between
action-more_apex = carry more speed to the apex
action-exit_before = sort the exit of the corner before first
action-earlier_throttle = unwind the steering, then go to power earlier
action-full_sooner = squeeze the throttle on to full in one go as the steering opens
action-open_exit = turn in later and open the exit
action-keep = keep the usual brake point and speed, and repeat them
action-match = match the quicker pass
action-repeat = repeat it just like that
advice = { $corner }: { $action }{ $cause ->
    [early_brake] , { $step } at a time at most, from { $now } to { $aim } before the corner
    [late_brake] : { $aim } before the corner, not { $now }
    [long_brake] : { $aim } at the peak, not { $now }
    [coasting] : { $aim } of coasting, not { $now }
    [slow_apex] , in small steps: { $aim } at the slowest point, not { $now }
    [slow_entry] : { $aim } at the entry, not { $now }
    [early_slowing] , in small steps: { $aim } at the entry, not { $now }
    [late_throttle] : { $aim } at the exit, not { $now }
    [part_throttle] : full { $aim } after the apex, not { $now }
    [slow_exit] : { $aim } at the exit, not { $now }
   *[none] {""}
}.{ $cause ->
    [none] {""}
    [steady] {""}
   *[other] {" "}Reached already { $basis ->
        [driver] by { $other }
       *[other] on lap { $reached }
    }, worth up to { $loss } a lap.
}{ advice-danger }
advice-danger = { $danger ->
    [yes] {" "}Danger zone on file there: leave a margin.
   *[no] {""}
}
