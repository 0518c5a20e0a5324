where-lap = Whole lap
measured-speed_corner = speed
measured-speed_straight = top speed
measured-speed_lap = top speed
measured-time_corner = corner time
measured-time_straight = time
measured-time_lap = lap time
measured-throttle_corner = throttle
measured-throttle_least = lowest throttle
measured-throttle_straight = mean throttle
measured-throttle_lap = mean throttle
measured-brake_point = brake point
measured-brake_pressure = brake pressure
measured-brake_release = brake released
measured-brake_rate = rate of brake release
measured-brake_time = time on the brake
measured-brakings = times on the brake
measured-brake_g = braking deceleration
measured-throttle_point = throttle pick-up
measured-full_throttle = share of full throttle
measured-full_point = full throttle again
measured-accel_g = acceleration
measured-lateral_g = lateral g
measured-total_g = combined g
measured-steering = steering angle
measured-corrections = steering corrections
measured-coasting = coasting
measured-rpm = engine speed
measured-mean_speed = average speed
measured-yaw_rate = yaw rate
at-none = {""}
at-entry = {" "}at the entry
at-apex = {" "}at the apex
at-exit = {" "}at the exit
at-entry_apex = {" "}from entry to apex
at-apex_exit = {" "}from apex to exit
at-entry_exit = {" "}from entry to exit
side-none = {""}
side-before-entry = {" "}before the corner
side-after-entry = {" "}after the corner entry
side-before-apex = {" "}before the apex
side-after-apex = {" "}after the apex
end-high = the highest
end-low = the lowest
end-early = the earliest
end-late = the latest
end-long = the longest
end-short = the shortest
verdict-yes = Yes:{" "}
verdict-no = No:{" "}
verdict-right = Right:{" "}
verdict-wrong = Not so:{" "}
verdict-partly = Not on every lap:{" "}
verdict-somewhere = Not everywhere:{" "}
measure-best = { $where }, { $what }{ $at }{ lap-who }: { $best }{ $side } on the best lap (lap { $lap }){ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $few ->
    [yes] {""}
   *[no] , { $usual } on the usual lap
}.
measure-laps = { $where }, { $what }{ $at }{ lap-who }, { $count ->
    [one] lap { $laps }
   *[other] laps { $laps }
}: { $values }{ $side }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ beside-usual }.
measure-mean = { $where }, { $what }{ $at }{ lap-who }: { $mean }{ $side } on average over { laps-counted }; { $usual } on the usual lap.
measure-total = { $where }, { $what }{ $at }{ lap-who }: { $total } in total over { laps-counted }, { $mean } a lap on average.
measure-peak = { $where }, { $what }{ $at }{ lap-who }: { nth } { $value }{ $side }, lap { $lap }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $ends ->
    [yes] ; at the other end { $last }, lap { $last_lap }
   *[no] {""}
}{ beside-usual }.
measure-limit = { $where }, { $what }{ $at }{ lap-who }: { $side ->
    [below] under { $limit }
   *[above] over { $limit }
} on { $count } of { $all } laps{ $listed ->
    [yes] : { laps-named }
   *[no] {""}
}.
measure-share = That is { $share } of { $lap ->
    [0] the { $count } laps
   *[other] lap { $lap }
}.
none-where = { $sort ->
    [lift] Lifting the throttle
   *[other] { $what }
}: { $hits ->
    [0] some in every one of { $count } corners
   *[other] none on any lap in { $hits } of { $count } corners: { $corners }
}.
measure-none = { $where }, { $what }{ $at }{ lap-who }: none on any of { laps-counted }.
measure-not-closed = { $where }: the throttle was never closed, lowest { $least }; so there is no pick-up point.
measure-rival-none = { $where }, { $what }{ $at }: no value of { $other }.
full-throttle-run = Longest full throttle{ lap-who }: { $seconds } on lap { $lap }, { $length }, from { $begin } to { $end }.
nth = { $nth ->
    [1] { $end }
   *[other] place { $nth } (1: { $end })
}
measured-lost = time lost
measured-won = time gained
places-passing = { $count } of { $all } { places-all }{ $count ->
    [0] {""}
   *[other] : { $named }
}; { $what }{ $at }{ $compared ->
    [early] , over { $limit } earlier than { $name }
    [late] , over { $limit } later than { $name }
    [high] , over { $limit } higher than { $name }
    [low] , over { $limit } lower than { $name }
    [long] , over { $limit } longer than { $name }
    [short] , over { $limit } shorter than { $name }
   *[none] {" "}{ $side ->
        [below] under
       *[above] over
    } { $limit }
}{ $loses ->
    [yes] {" "}{ loss-basis }
   *[no] {" "}(usual lap)
}.
rank-listed = { $what }{ $at }{ lap-who }, { $every ->
    [yes] corner by corner
   *[no] { $end } of { $count } { places-all }
} ({ which-lap }): { $listed }{ $side }.
rank-lost = { $where } { $nth ->
    [1] costs
   *[other] is place { $nth }, costing
} { $nth ->
    [1] { $end ->
        [least] least
       *[most] most
    }:{" "}
   *[other] {""}
}{ $loss } { $lap ->
    [0] on the usual lap
   *[other] on lap { $lap }
} against the best time there ({ $own }, best { $best }){ $count ->
    [0] {""}
   *[other] ; the others: { $listed }
}.
rank-places = { $where }: { $what }{ $at }{ lap-who } { $value }{ $side }, { nth } of { $count } { places-all } ({ which-lap }){ $count ->
    [2] {""}
   *[other] {"; "}{ $nth ->
        [1] then
       *[other] place 1:
    } { $second } { $second_value }
}; at the other end { $last } { $last_value }.
rank-level = { $count } { places-all } alike, { $what }{ $at }{ lap-who }: { $value }{ $side } ({ which-lap }).
compare = { $where }, { $what }{ $at }: { whose-first }{ $own }{ $side } { $own_of ->
    [usual] on the usual lap
   *[lap] on lap { $lap }
}; { $other ->
    [none] {""}
   *[other] { $other }{" "}
}{ $theirs } { $against ->
    [usual] on the usual lap
    [best_pass] on the best pass (lap { $target_lap })
    [best_lap] on the best lap (lap { $target_lap })
    [plan] in the circuit plan
   *[lap] on lap { $target_lap }
}: { $ahead ->
    [none] {""}
   *[other] { $ahead }{" "}
}{ $compared ->
    [level] level, { $difference } apart
    [early] { $difference } earlier
    [late] { $difference } later
    [low] { $difference } lower
    [long] { $difference } longer
    [short] { $difference } shorter
   *[high] { $difference } higher
}{ $both ->
    [yes] {"; usually "}{ $usual } and { $other_usual }
   *[no] {""}
}{ $lost ->
    [yes] {"; the corner costs"} { $loss } { loss-when }
    [no] {"; no time lost in the corner"}
    [gained] {"; the corner gains"} { $loss } { loss-when }
   *[unknown] {""}
}.
range = { $where }, { $what }{ $at }{ lap-who }: { whose-first }{ $usual }{ $side } on the usual lap, from { $least } (lap { $other_lap }) to { $most } (lap { $lap }){ $asked ->
    [width] , a range of { $width } over { $count } laps, standard deviation { $spread }
    [some] {"; some on"} { $hits } of { $count } laps
   *[so] {"; so on"} { $hits } of { $count } laps
}.
judge-nowhere = No: { $what }{ $at } { $compared ->
    [early] earlier
    [late] later
    [low] lower
    [long] longer
    [short] shorter
   *[high] higher
} than { $other ->
    [none] on the best pass, and time lost by it, in none of { $count } corners
   *[other] { $other } in none of { $count } corners
}.
spread-few = { $count ->
    [one] Only one complete lap
   *[other] Only { $count } complete laps
}: too few to tell what is repeatable.
spread-corners = { $whose ->
    [none] {""}
   *[other] { $whose }:{" "}
}{ $first ->
    [steady] Most repeatable{ spread-place }: { $steady }; least repeatable{ spread-place }: { $loose }
   *[loose] Least repeatable{ spread-place }: { $loose }; most repeatable{ spread-place }: { $steady }
} ({ $what }{ $at }{ lap-who }, standard deviation, { $count } laps).
spread-place = { $nth ->
    [1] {""}
   *[other] , place { $nth }
}
claim-flat = { $where }, { $lifted ->
    [none] flat on { $count ->
        [one] that lap
       *[other] all { $count } laps
    }, throttle never under { $least }
    [few] throttle lifted on { $number ->
        [one] lap { $laps }
       *[other] laps { $laps }
    }, to { $least } at the lowest
    [all] throttle lifted on all { $count } laps, to { $least } at the lowest
   *[many] throttle lifted on { $number } of { $count } laps, to { $least } at the lowest (lap { $lap })
}.
laps-counted = { $count ->
    [one] one lap
   *[other] { $count } laps
}
beside-usual = { $few ->
    [yes] {""}
   *[no] {"; "}{ $usual } on the usual lap
}
places-all = { $of ->
    [road] straights
   *[corner] corners
}
which-lap = { $lap ->
    [0] usual lap
   *[other] lap { $lap }
}
whose-first = { $whose ->
    [none] {""}
   *[other] { $whose }{" "}
}
loss-when = { $own_of ->
    [lap] on that lap
   *[other] a lap
}
