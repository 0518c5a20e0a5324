claim-right = Stimmt:{" "}
claim-wrong = Stimmt nicht:{" "}
claim-partly = Nicht in jeder Runde:{" "}
claim-flat = { $verdict }{ $where }, { $lifted ->
    [none] Vollgas in { $count ->
        [one] dieser Runde
       *[other] allen { $count } Runden
    }, Gas nie unter { $least }
    [few] gelupft in { $number ->
        [one] Runde { $laps }
       *[other] den Runden { $laps }
    }, bis auf { $least }
    [all] gelupft in allen { $count } Runden, bis auf { $least }
   *[many] gelupft in { $number } von { $count } Runden, bis auf { $least } (Runde { $lap })
}.
claim-compared = { $verdict }{ $where }, { $what }{ $at }: { $pair ->
    [laps] Runde { $first } { $own }{ $side }, Runde { $other } { $theirs }
    [best] { $first } { $own }, { $other } { $theirs } (beste Runden)
   *[usual] { $first } { $own }{ $side }, { $other } { $theirs } (übliche Runden)
}: { $compared ->
    [level] gleich
    [early] { $difference } früher
    [late] { $difference } später
    [low] { $difference } weniger
    [long] { $difference } länger
    [short] { $difference } kürzer
   *[high] { $difference } mehr
}.
claim-range = { $verdict }{ $where }, { $what }{ $at }: übliche Runde { $usual }{ $side }, von { $least } (Runde { $other_lap }) bis { $most } (Runde { $lap }){ $asked ->
    [width] , eine Spanne von { $width } über { $count } Runden
    [some] {"; etwas davon in"} { $hits } von { $count } Runden
   *[so] {"; so in"} { $hits } von { $count } Runden
}.
claim-lap = { $verdict }{ $where }, { $what }{ $at }: Runde { $lap } { $own }{ $side }{ $same ->
    [yes] , { $end }
   *[no] ; { $end } { $best } in Runde { $first }
}.
claim-corner = { $verdict }{ $where }: { $what }{ $at } { $own }{ $side } (übliche Runde){ $same ->
    [yes] , { $end } von allen Kurven
   *[no] ; { $end } { $best }, { $first }
}.
claim-loss = { $verdict }{ $where }, { $sign ->
    [lost] { $loss } je Runde verloren
    [gained] { $loss } je Runde gewonnen
   *[level] kein Unterschied
} gegenüber { $against ->
    [usual_other] der üblichen Runde von { $other }
   *[best_pass] der besten Durchfahrt
}; Platz { $rank } von { $count } nach Zeitverlust, am meisten kostet { $worst }: { $worst_loss }.
