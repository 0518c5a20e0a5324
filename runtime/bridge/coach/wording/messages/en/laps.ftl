# Parts of other messages: whose session, against what, and why.

lap-who = { $driver ->
    [own] { "" }
   *[other] { " " }({ $driver })
}
loss-than = { $than ->
    [usual] the usual lap
    [best_lap] the best lap
   *[lap] lap { $other }
}
loss-why = { $caused ->
    [yes] ; cause: { $cause }, by { $amount }
   *[no] { "" }
}
laps-which = { $which ->
    [all] { $count ->
        [one] the only lap
       *[other] all { $count } laps
    }
    [without] { laps-number }, without { $out ->
        [one] lap { $named }
       *[other] laps { $named }
    }
   *[some] { laps-named }
}

# Which laps there are, and their times

lap-best = Best lap{ lap-who }: { $time }, lap { $lap }{ $count ->
    [one] { "" }
   *[other] { $some ->
        [all] , of { $count } that count
       *[some] , of the { $count } asked about
    }
}.
lap-lead = That is { $gap } ahead of the next best, lap { $other }.
lap-level = Lap { $other } took the same time.
lap-time = { $which ->
    [last] Last complete lap{ lap-who }: lap { $lap }, { $time }
    [slowest] Slowest lap{ lap-who }: lap { $lap }, { $time }
    [first] First complete lap{ lap-who }: lap { $lap }, { $time }
   *[named] Lap { $lap }{ lap-who }: { $time }
}; { $rank ->
    [1] the best of { $count }
   *[other] { $gap } off the best, lap { $best }; rank { $rank } of { $count }
}.
lap-count = { $count ->
    [one] 1 lap counts{ lap-who }: it is complete, no out-lap or in-lap.
   *[other] { $count } laps count{ lap-who }, laps 1 to { $last }: each is complete, none an out-lap or in-lap.
}
lap-count-rest = Not counted: { $km } { $which ->
    [both] before the first and after the last lap (out-lap and in-lap)
    [out] before the first lap (out-lap)
    [in] after the last lap (in-lap)
   *[other] that are no complete lap
}.
lap-count-of = { $other }: { laps-number }.

# Average, spread, luck, trend

lap-average = Average{ lap-who }: { $mean }, over { laps-which }; median { $median }.
lap-off-average = Lap { $lap }{ lap-who }, { $time }, is { $gap } { $side ->
    [faster] quicker
   *[slower] slower
} than the average.
session-time = { $dated ->
    [yes] The recording{ lap-who } began on { $start } and
   *[no] The recording{ lap-who } has no date; it
} took { $minutes }: { $count ->
    [one] 1 complete lap
   *[other] { $count } complete laps
}, { $km }.
lap-only = Only one lap counts{ lap-who }, { $time }: nothing to compare it with yet.
spread-steady = steady
spread-fair = fairly steady
spread-uneven = uneven
lap-spread = Lap times{ lap-who } are { $judged }: ±{ $spread } (standard deviation) over { laps-which }; from { $low } to { $high }, a range of { $width }.
lap-spread-odd = Without lap { $lap } it would be ±{ $spread }.
lap-usual = Nearest to the usual lap ({ $usual }): lap { $lap }, { $time }.
lap-luck = Lap { $lap } ({ $time }) stands { $next_gap } ahead of the next best, lap { $next }, and { $usual_gap } ahead of the usual lap.
lap-luck-corner = It gained most in { $corner }: { $seconds } on the usual lap.
lap-luck-ideal = { $whole ->
    [yes] By sectors that lap is as good as the ideal lap: a whole lap that has not been repeated
   *[no] { $kept ->
        [0] None of the three best sectors comes
        [one] One of the three best sectors comes
       *[other] { $kept } of the three best sectors come
    } from that lap; the ideal lap is { $gap } quicker
}; luck itself cannot be measured.
trend-few = { $count ->
    [one] 1 lap shows
   *[other] { $count } laps show
} no trend yet.
trend-laps = { $way ->
    [slower] Lap times rose by { $slope } a lap
    [faster] Lap times fell by { $slope } a lap
    [late-slower] Slower towards the end
    [late-faster] Quicker towards the end
    [row-slower] Each of the last { $row } laps slower, by { $change } in all,
    [row-faster] Each of the last { $row } laps quicker, by { $change } in all,
   *[none] No clear trend in lap times
} over { $count } laps: the first { $few } around { $early }, the last { $few } around { $late }; best on lap { $best }.
trend-quantity = { $where }, { $what }: { $early } over the first { $number } laps, { $late } over the last { $number } (medians).
trend-parted = Driver and track cannot be parted here: lap times alone do not show whose gain it is{ $noted ->
    [yes] , and weather notes do not measure grip
   *[no] , and no weather or grip of the surface was recorded
}.

# Two laps beside each other, and why one was slow

lap-compare = { $level ->
    [yes] Laps { $lap } and { $other } took the same time: { $time }
   *[no] Lap { $lap } ({ $time }) is { $gap } quicker than lap { $other } ({ $other_time })
}.
lap-alike = { $to ->
    [pair] Laps { $lap } ({ $time }) and { $other } ({ $other_time }) are closest in time
   *[named] Closest in time to lap { $lap } ({ $time }) is lap { $other } ({ $other_time })
}: { $gap } apart.
lap-loses = Lap { $lap } loses most in { $corner }: { $seconds } to lap { $other }{ loss-why }.
lap-loses-here = Lap { $lap } loses { $seconds } to lap { $other } in { $corner }{ loss-why }.
lap-explain = { $how ->
    [slow] Lap { $lap }{ lap-who }: { $time }, { $over } slower than the usual lap ({ $usual }) and { $behind } off the best
    [quick] Lap { $lap }{ lap-who } was quick: { $time }, { $over } quicker than the usual lap ({ $usual }){ $rank ->
        [best] { " " }and the best
       *[inner] { "" }
    }
   *[usual] Lap { $lap }{ lap-who } was not slow: { $time } against { $usual } for the usual lap; { $behind } off the best
}{ $edge ->
    [first] ; it is a complete lap, no out-lap
    [last] ; it is a complete lap, no in-lap
   *[inner] { "" }
}.
lap-lost = { $corner } cost { $seconds } against { loss-than }{ loss-why }.
lap-gained = { $corner } gained { $seconds } on { loss-than }.
video-lap = Lap to show: lap { $lap }, { $time }{ $best ->
    [yes] , the best
   *[no] , the best one without an incident
}. Video itself is not recorded here.

# Sectors

sector-unknown = No sector has a time here: the recording paused in each.
sector-one-lap = With one lap there is no weakest sector yet; its times:
sector-corner = There { $corner } costs { $seconds } against lap { $lap }{ loss-why }.
sector-no-corner = No single corner of sector { $sector } costs { $least } or more.

# The ideal lap, and what is possible

ideal-unknown = No ideal lap: the recording paused in a sector on every lap.
ideal-lap = Ideal lap from the best sectors{ lap-who }: { $time }, { $same ->
    [yes] level with the best lap, lap { $best }
   *[no] { $gain } quicker than the best lap ({ $best_time }, lap { $best })
}.
ideal-sectors = Best sectors: { $s1 } (lap { $lap1 }), { $s2 } (lap { $lap2 }), { $s3 } (lap { $lap3 }); the best lap is off by { $gap1 }, { $gap2 }, { $gap3 }.
ideal-shared = The best sectors of both drivers together: { $time }, { $same ->
    [yes] no quicker than the better lap of the two
   *[no] { $gain } quicker than the better lap of the two
}.
ideal-honest = { $count ->
    [one] By sectors the ideal lap, { $time }, is lap { $named } itself, so it was driven
   *[other] The ideal lap, { $time }, is put together from laps { $named }: each part was driven, the whole never
}.
ideal-usual = Realistic first: bring the usual lap ({ $usual }) to the best ({ $best }, lap { $lap }), worth { $gain }.
theory-reference = Reference lap on file: { $time }; the best lap is { $gap } { $side ->
    [behind] slower
   *[ahead] quicker
}.
theory-speeds = At the corner speeds of the circuit's file the best lap would take about { $time }: { $gap } { $side ->
    [behind] less
   *[ahead] more
}, from { $count } corners, straights as driven.
theory-corner = Furthest off: { $corner }, { $lost }; { $own } at the apex, the plan has { $file }.
theory-limits = That plan is a model of line and grip, not of this car, its tyres or the day: a guide, no promise.
theory-none = The circuit's file has no target speeds, and there is no reference lap, so no theoretical plan.
goal-named = { $target } is { $reach ->
    [done] done: the best lap, { $best }, is { $gap } quicker
    [parts] { $gap } away, and the best parts of the laps driven reach it
   *[more] { $gap } away from the best lap ({ $best }), more than the best parts of the laps driven give
}.
goal-lap = Next goal: { $goal }; best so far { $best }, lap { $lap }.
goal-corner = Most lies in { $corner }: { $seconds } from the usual to the best lap{ loss-why }.
laps-number = { $count ->
    [one] 1 lap
   *[other] { $count } laps
}
laps-named = { $count ->
    [one] lap { $named }
   *[other] laps { $named }
}
