where-lap = Tour complet
measured-speed_corner = vitesse
measured-speed_straight = vitesse de pointe
measured-speed_lap = vitesse de pointe
measured-time_corner = temps dans le virage
measured-time_straight = temps
measured-time_lap = temps au tour
measured-throttle_corner = accélérateur
measured-throttle_least = accélérateur au minimum
measured-throttle_straight = accélérateur en moyenne
measured-throttle_lap = accélérateur en moyenne
measured-brake_point = point de freinage
measured-brake_pressure = pression de freinage
measured-brake_release = frein relâché
measured-brake_rate = rapidité du relâchement du frein
measured-brake_time = temps de freinage
measured-brakings = nombre de freinages
measured-brake_g = décélération au freinage
measured-throttle_point = reprise des gaz
measured-full_throttle = part de plein gaz
measured-full_point = retour à pleins gaz
measured-accel_g = accélération
measured-lateral_g = accélération latérale
measured-total_g = g combinés
measured-steering = angle de volant
measured-corrections = corrections au volant
measured-coasting = roue libre
measured-rpm = régime moteur
measured-mean_speed = vitesse moyenne
measured-yaw_rate = vitesse de lacet
at-none = {""}
at-entry = {" "}en entrée
at-apex = {" "}à la corde
at-exit = {" "}en sortie
at-entry_apex = {" "}de l'entrée à la corde
at-apex_exit = {" "}de la corde à la sortie
at-entry_exit = {" "}de l'entrée à la sortie
side-none = {""}
side-before-entry = {" "}avant le virage
side-after-entry = {" "}après l'entrée du virage
side-before-apex = {" "}avant la corde
side-after-apex = {" "}après la corde
end-high = la valeur la plus haute
end-low = la valeur la plus basse
end-early = le plus tôt
end-late = le plus tard
end-long = le plus long
end-short = le plus court
verdict-yes = Oui :{" "}
verdict-no = Non :{" "}
verdict-right = Exact :{" "}
verdict-wrong = Non :{" "}
verdict-partly = Pas à chaque tour :{" "}
verdict-somewhere = Pas partout :{" "}
measure-best = { $where }, { $what }{ $at }{ lap-who } : { $best }{ $side } au meilleur tour (tour { $lap }){ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $few ->
    [yes] {""}
   *[no] , { $usual } au tour habituel
}.
measure-laps = { $where }, { $what }{ $at }{ lap-who }, { $count ->
    [one] tour { $laps }
   *[other] tours { $laps }
} : { $values }{ $side }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ beside-usual }.
measure-mean = { $where }, { $what }{ $at }{ lap-who } : { $mean }{ $side } en moyenne sur { laps-counted } ; { $usual } au tour habituel.
measure-total = { $where }, { $what }{ $at }{ lap-who } : { $total } au total sur { laps-counted }, soit { $mean } par tour en moyenne.
measure-peak = { $where }, { $what }{ $at }{ lap-who } : { $value }{ $side }, { nth }, tour { $lap }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $ends ->
    [yes] {" "}; à l'autre bout { $last }, tour { $last_lap }
   *[no] {""}
}{ beside-usual }.
measure-limit = { $where }, { $what }{ $at }{ lap-who } : { $side ->
    [below] sous { $limit }
   *[above] au-dessus de { $limit }
} sur { $count } tours sur { $all }{ $listed ->
    [yes] { " " }: { $count ->
        [one] tour { $named }
       *[other] tours { $named }
    }
   *[no] {""}
}.
measure-share = Soit { $share } { $lap ->
    [0] des { $count } tours
   *[other] du tour { $lap }
}.
none-where = { $sort ->
    [lift] lever le pied
   *[other] { $what }
} : { $hits ->
    [0] dans chacun des { $count } virages
   *[other] à aucun tour dans { $hits } virages sur { $count } : { $corners }
}.
measure-none = { $where }, { $what }{ $at }{ lap-who } : aucune valeur sur { laps-all }.
measure-not-closed = { $where } : les gaz n'ont jamais été coupés, minimum { $least } ; il n'y a donc pas de reprise des gaz.
measure-rival-none = { $where }, { $what }{ $at } : aucune valeur de { $other }.
full-throttle-run = Plus long passage à fond{ lap-who } : { $seconds } au tour { $lap }, { $length }, de { $begin } à { $end }.
nth = { $nth ->
    [1] { $end }
   *[other] place { $nth } (1 : { $end })
}
measured-lost = temps perdu
measured-won = temps gagné
places-passing = { $count } des { $all } { places-all }{ $count ->
    [0] {""}
   *[other] {" "}: { $named }
} ; { $what }{ $at }{ $compared ->
    [early] {" "}: plus de { $limit } plus tôt que { $name }
    [late] {" "}: plus de { $limit } plus tard que { $name }
    [high] {" "}: plus de { $limit } au-dessus de { $name }
    [low] {" "}: plus de { $limit } en dessous de { $name }
    [long] {" "}: plus de { $limit } plus long que { $name }
    [short] {" "}: plus de { $limit } plus court que { $name }
   *[none] {" "}{ $side ->
        [below] sous
       *[above] au-dessus de
    } { $limit }
}{ $loses ->
    [yes] {" "}{ loss-basis }
   *[no] {" "}(tour habituel)
}.
rank-listed = { $what }{ $at }{ lap-who }, { $every ->
    [yes] virage par virage
   *[no] { $end } des { $count } { places-all }
} ({ which-lap }) : { $listed }{ $side }.
rank-lost = { $where } coûte { $nth ->
    [1] { $end ->
        [least] le moins
       *[most] le plus
    } : { $loss }
   *[other] { $loss } (place { $nth })
} { $lap ->
    [0] au tour habituel
   *[other] au tour { $lap }
} par rapport au meilleur temps à cet endroit ({ $own }, meilleur { $best }){ $count ->
    [0] {""}
   *[other] {" "}; les autres : { $listed }
}.
rank-places = { $where } : { $what }{ $at }{ lap-who } { $value }{ $side }, { nth } de { $count } { places-all } ({ which-lap }){ $count ->
    [2] {""}
   *[other] {" ; "}{ $nth ->
        [1] puis
       *[other] place 1 :
    } { $second } ({ $second_value })
} ; à l'autre bout { $last } ({ $last_value }).
rank-level = { $count } { places-all } à égalité, { $what }{ $at }{ lap-who } : { $value }{ $side } ({ which-lap }).
compare = { $where }, { $what }{ $at } : { whose-first }{ $own }{ $side } { $own_of ->
    [usual] au tour habituel
   *[lap] au tour { $lap }
} ; { $other ->
    [none] {""}
   *[other] { $other }{" "}
}{ $theirs } { $against ->
    [usual] au tour habituel
    [best_pass] au meilleur passage (tour { $target_lap })
    [best_lap] au meilleur tour (tour { $target_lap })
    [plan] au plan du circuit
   *[lap] au tour { $target_lap }
} : { $ahead ->
    [none] {""}
   *[other] { $ahead }{" "}
}{ $compared ->
    [level] pareil, à { $difference } près
    [early] { $difference } plus tôt
    [late] { $difference } plus tard
    [low] { $difference } de moins
    [long] { $difference } de plus
    [short] { $difference } de moins
   *[high] { $difference } de plus
}{ $both ->
    [yes] {" ; d'habitude "}{ $usual } et { $other_usual }
   *[no] {""}
}{ $lost ->
    [yes] {" ; le virage coûte"} { $loss } { loss-when }
    [no] {" ; aucun temps perdu dans le virage"}
    [gained] {" ; le virage fait gagner"} { $loss } { loss-when }
   *[unknown] {""}
}.
range = { $where }, { $what }{ $at }{ lap-who } : { whose-first }{ $usual }{ $side } au tour habituel, de { $least } (tour { $other_lap }) à { $most } (tour { $lap }){ $asked ->
    [width] , un écart de { $width } sur { $count } tours, écart type { $spread }
    [some] {" ; il y en a sur"} { $hits } des { $count } tours
   *[so] {" ; c'est le cas sur"} { $hits } des { $count } tours
}.
judge-nowhere = Non : { $what }{ $at } { $compared ->
    [early] plus tôt
    [late] plus tard
    [low] plus bas
    [long] plus long
    [short] plus court
   *[high] plus haut
} { $other ->
    [none] qu'au meilleur passage, avec du temps perdu, dans aucun des { $count } virages
   *[other] que { $other } dans aucun des { $count } virages
}.
spread-few = { $count ->
    [one] Un seul tour complet
   *[other] Seulement { $count } tours complets
} : trop peu pour juger la régularité.
spread-corners = { $whose ->
    [none] {""}
   *[other] { $whose } :{" "}
}{ $first ->
    [steady] Le plus régulier{ spread-place } : { $steady } ; le moins régulier{ spread-place } : { $loose }
   *[loose] Le moins régulier{ spread-place } : { $loose } ; le plus régulier{ spread-place } : { $steady }
} ({ $what }{ $at }{ lap-who }, écart type, { $count } tours).
spread-place = { $nth ->
    [1] {""}
   *[other] , place { $nth }
}
claim-flat = { $where }, { $lifted ->
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
laps-counted = { $count ->
    [one] un tour
   *[other] { $count } tours
}
beside-usual = { $few ->
    [yes] {""}
   *[no] {" ; "}{ $usual } au tour habituel
}
places-all = { $of ->
    [road] lignes droites
   *[corner] virages
}
which-lap = { $lap ->
    [0] tour habituel
   *[other] tour { $lap }
}
whose-first = { $whose ->
    [none] {""}
   *[other] { $whose }{" "}
}
loss-when = { $own_of ->
    [lap] sur ce tour
   *[other] par tour
}
