rival-gap = { $which ->
    [best] Best laps
   *[named] Lap { $lap } against lap { $other_lap } of { $other }
}: { rival-side }.
laps-beaten = { $whose }: { $count } of { $all } laps quicker than { $lap ->
    [0] the average of { $of }
   *[other] lap { $lap } of { $of }
}, { $time }{ $count ->
    [0] {""}
    [one] : lap { $named }
   *[other] : laps { $named }
}.
rival-mean = Averages: { rival-side }.
rival-usual = Usual laps: { rival-side }.
rival-corner = { $corner }{ $on ->
    [usual] , usual passes
    [laps] , best laps
   *[named] , lap { $lap } against lap { $other_lap }
}: { $seconds } { $side ->
    [behind] lost to { $other }{ loss-why }
    [ahead] gained on { $other }
   *[level] between the two, level with { $other }
}.
rival-sector = Sector { $sector }: { $side ->
    [behind] { $gap } slower than { $other }
    [ahead] { $gap } quicker than { $other }
   *[level] level with { $other }, { $gap } apart
}, { $own } against { $theirs }.
rival-sectors = By sector against { $other } (plus is slower): sector 1 { $s1 }, sector 2 { $s2 }, sector 3 { $s3 }.
rival-split = Against { $other }: { $entry } up to the apexes (braking), { $apex } at them, { $exit } out of them; { $most ->
    [entry] most goes under braking
    [apex] most goes at the apex
    [exit] most goes on the exits
   *[none] nothing is lost
}.
rival-alike = { $corner }: brake point, minimum speed, coasting and exit speed are alike, as far as they were recorded.
rival-car = { $same ->
    [yes] Same car: both drove { $own_car }, so nothing is to be subtracted for the car
    [no] Not the same car on record: { $own_car }, { $other } { $other_car }; how much of the gap is car cannot be told
   *[unknown] Not recorded for both which car was driven, so how much of the gap is car cannot be told
}.
rival-day = Conditions of the two runs may have differed; they were not measured.
rival-laps = { $other }: { $count ->
    [one] 1 lap counts
   *[other] { $count } laps count
}, not { $said }.
rival-spread = { $side ->
    [other] { $other } is steadier
    [own] { $other } is less steady
   *[level] As steady as { $other }
}: ±{ $other_spread } over { $other_count } laps, against ±{ $spread } over { $count }.
rival-one-lap = { $other } has { $other_count ->
    [one] 1 lap
   *[other] { $other_count } laps
} that count, this session { $count }: too few to say who is steadier.
rival-few = So few laps say little about who is steadier.
progress-here = Here so far: { laps-number }, best { $best }.
progress-last = Against the session before ({ $date }): best lap { gap-side }, { $now } against { $then }; usual lap { $usual_side ->
    [ahead] { $usual_gap } quicker
    [behind] { $usual_gap } slower
   *[level] level
}.
progress-series = Over { $count } sessions since { $date } the best lap went from { $then } to { $now }: { gap-side }.
progress-spread = Lap times spread by ±{ $now } this time, by ±{ $then } the time before.
progress-plateau = The best laps of the last three sessions lie within { $within }: a plateau.
progress-corner = Most gained in { $corner }: { $speed } more at the apex since the first session.
progress-limits = Weather, tyres and surface of those days were not measured, so it is no pure driver figure.
stuck-corner = Within this session { $corner } has not got better: { $late } over its best in the second half, { $early } in the first.
improved-corner = { $corner } improved by { $gain } within this session: { $early } over its best in the first half, { $late } in the second.
improved-none = { $count ->
    [one] One lap shows
   *[other] { $count } laps show
} no corner that got clearly better from the first half to the second.
rival-side = { $side ->
    [behind] { $other } is { $gap } quicker, { $other_time } against { $time }
    [ahead] { $other } is { $gap } slower, { $other_time } against { $time }
   *[level] level with { $other }, { $time }
}
gap-side = { $side ->
    [ahead] { $gap } quicker
    [behind] { $gap } slower
   *[level] level
}
