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
claim-some = { $verdict }{ $where }, { $what }{ $at }: on { $some } of { $count } laps; usual lap { $usual }, most { $value } (lap { $lap }).
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
claim-amount = { $verdict }{ $where }, { $what }{ $at }: usual lap { $usual }{ $side }, from { $least } (lap { $other_lap }) to { $most } (lap { $lap }); so on { $hits } of { $count } laps.
claim-same = { $verdict }{ $where }, { $what }{ $at }: from { $least } (lap { $other_lap }) to { $most }{ $side } (lap { $lap }), a range of { $width } over { $count } laps.
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
