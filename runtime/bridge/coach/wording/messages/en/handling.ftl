incident-spin = spin
incident-off_line = off the line
incident-stopped = stop on track
incident-over_g = g far above a usual lap
incident-hard_deceleration = hard deceleration off the brake
incident-abs_active = ABS at work
incident-tc_active = traction control at work
trail-summary = Trail braking in { $into } of { $count } braked corners: the brake is still on at the entry; down to the apex in { $apex } (usual laps).
trail-corner = { $driver }, { $where }: peak { $peak }, { $entry } at the entry, { $apex } at the apex{ $released ->
    [yes] ; released { $place }{ $side } at { $rate }
   *[no] ; not released before the exit
}{ $steered ->
    [yes] , { $overlap } together with steering
   *[no] {""}
}: { $shape ->
    [trail] trail braking
   *[straight] released before turning in
}.
grip-caveat = All of today is { $envelope }{ $computed ->
    [yes] , computed from speed and position
   *[no] {""}
}: what this car reached, not its limit, so a reserve is a hint and not a promise.
balance = { $where }: { $sign ->
    [under] more steering for no more lateral g, which may be understeer
    [over] opposite lock, which may be oversteer
    [none] no sign of under- or oversteer in steering and lateral g
   *[unknown] steering is not recorded, so the balance does not show
}; driver and car cannot be told apart by these channels.
balance-pass = { $which ->
    [usual] Usual lap
    [lap] Lap { $lap }
   *[other] { $driver }, usual lap
}, { $where }: { $speed } at the slowest{ $steered ->
    [yes] , steering up to { $steering }, { $countered ->
        [yes] opposite lock { $opposite }
       *[no] no opposite lock
    }
   *[no] {""}
}{ $turned ->
    [yes] , { $lateral } to the side
   *[no] {""}
}{ $gas ->
    [yes] , throttle down to { $throttle }, picked up { $pick_up }{ $side }
    [down] , throttle down to { $throttle }
    [held] , throttle never under { $throttle }
   *[no] {""}
}.
incidents-count = { $count } incidents in this session; the first three:
incidents-none = No incident detected on { laps-counted }; looked for: { $kinds }.
incident = { $lap ->
    [0] Outside the laps that count
   *[other] Lap { $lap }
}{ $placed ->
    [yes] , { $where }
   *[no] {""}
}: { $kind }{ $moving ->
    [yes] {" "}at { $speed }
   *[no] {""}
}.
incident-odd = Slowest moment: lap { $lap }, { $where }, { $loss } slower than the usual lap.
incident-cause = { $cause ->
    [over] Opposite lock on lap { $lap } in { $where }: a slide is likely
    [under] More steering for no more lateral g on lap { $lap } in { $where }: the front may have slid
    [lift] Less lateral g and no opposite lock on lap { $lap } in { $where }: it looks like a lift, not a slide
    [none] No opposite lock on lap { $lap } in { $where }: no sign of a slide
   *[unknown] Steering is not recorded, so lap { $lap } in { $where } shows no slide
}. A slide can only be inferred, never measured here.
resolution-rate = The logger writes { $rate } samples a second: one every { $step } at { $speed }{ $fixes ->
    [fine] ; GPS noise from fix to fix under { $noise }, a slow drift does not show
    [noisy] ; GPS noise from fix to fix about { $noise }, a slow drift does not show
   *[none] ; no usable GPS, places come from distance
}.
resolution-scatter = The brake point of { $where } varies by { $scatter } from lap to lap (standard deviation, { $count } laps).
resolution-told = { $asked } of brake point: { $told ->
    [yes] can be told apart, even from one lap to another
    [mean] only as a mean of several laps, not from one lap to another
   *[no] not to be told apart here, within sampling and scatter
}.
