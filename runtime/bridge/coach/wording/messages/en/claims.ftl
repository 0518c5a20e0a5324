claim-right = Right:{" "}
claim-wrong = Not so:{" "}
claim-partly = Not on every lap:{" "}
claim-flat = { $verdict }{ $where }, { $lifted ->
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
claim-compared = { $verdict }{ $where }, { $what }{ $at }: { $pair ->
    [laps] lap { $first } { $own }{ $side }, lap { $other } { $theirs }
    [best] { $first } { $own }, { $other } { $theirs } (best laps)
   *[usual] { $first } { $own }{ $side }, { $other } { $theirs } (usual laps)
}: { $compared ->
    [level] level
    [early] { $difference } earlier
    [late] { $difference } later
    [low] { $difference } lower
    [long] { $difference } longer
    [short] { $difference } shorter
   *[high] { $difference } higher
}.
claim-range = { $verdict }{ $where }, { $what }{ $at }: usual lap { $usual }{ $side }, from { $least } (lap { $other_lap }) to { $most } (lap { $lap }){ $asked ->
    [width] , a range of { $width } over { $count } laps
    [some] {"; some on"} { $hits } of { $count } laps
   *[so] {"; so on"} { $hits } of { $count } laps
}.
claim-lap = { $verdict }{ $where }, { $what }{ $at }: lap { $lap } { $own }{ $side }{ $same ->
    [yes] , { $end }
   *[no] ; { $end } is { $best }, lap { $first }
}.
claim-corner = { $verdict }{ $where }: { $what }{ $at } { $own }{ $side } (usual lap){ $same ->
    [yes] , { $end } of the corners
   *[no] ; { $end } is { $best }, { $first }
}.
claim-loss = { $verdict }{ $where } { $sign ->
    [lost] loses { $loss } a lap
    [gained] gains { $loss } a lap
   *[level] is level
} against { $against ->
    [usual_other] { $other }’s usual lap
   *[best_pass] its best pass
}; place { $rank } of { $count } by time lost, most at { $worst }: { $worst_loss }.
