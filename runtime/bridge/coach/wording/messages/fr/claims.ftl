claim-right = Exact :{" "}
claim-wrong = Non :{" "}
claim-partly = Pas à chaque tour :{" "}
claim-flat = { $verdict }{ $where }, { $lifted ->
    [none] à fond { $count ->
        [one] sur ce tour
       *[other] sur les { $count } tours
    }, accélérateur jamais sous { $least }
    [few] levé de pied { $number ->
        [one] au tour { $laps }
       *[other] aux tours { $laps }
    }, jusqu'à { $least }
    [all] levé de pied sur les { $count } tours, jusqu'à { $least }
   *[many] levé de pied sur { $number } des { $count } tours, jusqu'à { $least } (tour { $lap })
}.
claim-compared = { $verdict }{ $where }, { $what }{ $at } : { $pair ->
    [laps] tour { $first } { $own }{ $side }, tour { $other } { $theirs }
    [best] { $first } { $own }, { $other } { $theirs } (meilleurs tours)
   *[usual] { $first } { $own }{ $side }, { $other } { $theirs } (tours habituels)
} : { $compared ->
    [level] pareil
    [early] { $difference } plus tôt
    [late] { $difference } plus tard
    [low] { $difference } de moins
    [long] { $difference } de plus
    [short] { $difference } de moins
   *[high] { $difference } de plus
}.
claim-range = { $verdict }{ $where }, { $what }{ $at } : tour habituel { $usual }{ $side }, de { $least } (tour { $other_lap }) à { $most } (tour { $lap }){ $asked ->
    [width] , un écart de { $width } sur { $count } tours
    [some] {" ; il y en a sur"} { $hits } des { $count } tours
   *[so] {" ; c'est le cas sur"} { $hits } des { $count } tours
}.
claim-lap = { $verdict }{ $where }, { $what }{ $at } : tour { $lap } { $own }{ $side }{ $same ->
    [yes] , { $end }
   *[no] {" ;"} { $end } : { $best }, tour { $first }
}.
claim-corner = { $verdict }{ $where } : { $what }{ $at } { $own }{ $side } (tour habituel){ $same ->
    [yes] , { $end } des virages
   *[no] {" ;"} { $end } : { $best }, { $first }
}.
claim-loss = { $verdict }{ THE($where) } { $sign ->
    [lost] perd { $loss } par tour sur
    [gained] gagne { $loss } par tour sur
   *[level] est à égalité avec
} { $against ->
    [usual_other] le tour habituel de { $other }
   *[best_pass] le meilleur passage
} ; rang { $rank } sur { $count } en temps perdu ; plus grosse perte : { $worst }, { $worst_loss }.
