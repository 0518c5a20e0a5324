# Où le temps se perd et pourquoi, ce qui était bon, et quoi faire.

loss-basis = { $basis ->
    [usual] au tour { $lap } par rapport au tour habituel
    [driver] { $lap ->
        [0] au tour habituel face à { $other } (tour habituel)
       *[other] au tour { $lap } face à { $other } (meilleur tour)
    }
    [best_pass] au tour { $lap } par rapport aux meilleurs passages
   *[best_lap] { $lap ->
        [0] au tour habituel par rapport au meilleur tour
       *[other] au tour { $lap } par rapport au meilleur tour
    }
}
loss-one-lap = Un seul tour complet et personne à qui comparer : les pertes se voient à partir du deuxième tour.
loss-none = { loss-sector }Aucun virage ne coûte de temps mesurable { loss-basis }.
loss-unmeasured = { THE($corner) } n'est pas enregistré en entier sur les deux tours : la perte n'est pas connue.
loss-sector = { $sector ->
    [0] {""}
   *[other] Secteur { $sector } :{" "}
}
group-left = virages à gauche
group-right = virages à droite
group-slow = virages lents
group-fast = virages rapides
loss-groups = Perte la plus grande, { $first } : { $first_lost } ({ $first_corners }) ; { $second } : { $second_lost } ({ $second_corners }), { loss-basis }.
loss-total = { $gain } par tour au total : { $usual } au tour habituel, { $best } au meilleur (tour { $lap }).
loss-most = { $sector ->
    [0] { THE($corner) } coûte le plus
   *[other] dans le secteur { $sector }, { THE($corner) } coûte le plus
} : { $loss } { loss-basis }.
loss-spot = Côté { $spot }, { THE($corner) } coûte le plus : { $part } { loss-basis }.
loss-next = { $count ->
    [1] Ensuite : { $corner }, { $loss }.
   *[other] Ensuite : { $corner }, { $loss }, puis { $next }, { $after }.
}
loss-corner = { THE($corner) } coûte { $loss } { loss-basis }.
loss-with-straight = Avec la ligne droite qui suit, { THE($corner) } coûte { $loss } { loss-basis }.
loss-even = { THE($corner) } ne coûte pas de temps mesurable { loss-basis }.
loss-gain = { $corner } : { $loss } plus rapide { loss-basis }.
loss-cause = Cause : { loss-by }{ $more ->
    [0] {""}
   *[other] {" "}; aussi { $also }
}.
loss-by = { $cause ->
    [early_brake] freinage { $amount } plus tôt
    [early_slowing] ralentissement { $amount } plus tôt
    [late_brake] freinage { $amount } plus tard et entrée trop rapide
    [long_brake] { $amount } de pression maximale en moins, donc un freinage plus long
    [coasting] { $amount } de roue libre en plus
    [slow_apex] { $amount } de moins au point le plus lent
    [slow_entry] { $amount } de moins en approche
    [late_throttle] accélération { $amount } plus tard
    [part_throttle] { $amount } plus tard à pleins gaz
    [slow_exit] { $amount } de moins en sortie
   *[none] aucune ne ressort nettement
}
loss-parts = { $corner } par parties : entrée { $entry }, corde { $apex }, sortie et ligne droite qui suit { $exit }.
pass-brake = { $corner }, point de freinage : { $own } avant le virage, { loss-beside } { $best }.
pass-speed = { $corner } : point le plus lent { $low }, sortie { $leave } ; { loss-beside } { $best_low } et { $best_leave }.
loss-beside = { $basis ->
    [usual] tour habituel
    [driver] { $other }
    [best_pass] meilleur passage
   *[best_lap] meilleur tour
}
choice = { $where ->
    [0] Tour entier
   *[other] { $corner }
} : entrée { $entry }, sortie { $exit } { loss-basis }. { $side ->
    [entry] Le freinage rapporte plus : lui d'abord, la sortie ensuite
    [exit] La sortie rapporte plus : elle d'abord, le freinage reste tel quel
   *[neither] Ni le freinage ni la sortie n'y coûtent de temps
}.
summary-laps = { $count ->
    [one] Un tour compte : { $best }, tour { $best_lap }
   *[other] { $count } tours comptent : le meilleur en { $best } (tour { $best_lap }), tour habituel { $usual }, dispersion { $spread }
}.
strong-quicker = { THE($corner) } est un point fort : { $loss } plus rapide que { $other }, meilleur tour contre meilleur tour.
strong-steady = Virage le plus régulier : { $corner }, les { $count } passages tiennent en { $spread }.
strong-gained = Le meilleur tour est { $gained } plus rapide que le tour { $start } : le tour { $best_lap } montre ce qui est possible.
strong-none = Pas encore de point fort démontrable : il faut trois tours complets ou un autre pilote.

action-brake_later = freiner plus tard
action-hold_speed = garder la vitesse un peu plus longtemps
action-brake_harder = freiner plus court, avec plus de pression au début
action-brake_earlier = freiner un peu plus tôt et laisser la voiture se poser
action-stay_on_pedal = passer du frein aux gaz sans roue libre
action-more_apex = garder plus de vitesse à la corde
action-exit_before = soigner d'abord la sortie du virage précédent
action-earlier_throttle = ouvrir le volant, puis remettre les gaz plus tôt
action-full_sooner = ouvrir les gaz à fond d'un seul geste, à mesure que le volant s'ouvre
action-open_exit = braquer plus tard et élargir en sortie
action-keep = garder le point de freinage et la vitesse habituels, et les répéter
action-match = reproduire le passage plus rapide
action-repeat = refaire exactement pareil
advice = { $corner } : { $action }{ $cause ->
    [early_brake] , { $step } au plus à la fois, de { $now } à { $aim } avant le virage
    [late_brake] {" "}: { $aim } avant le virage au lieu de { $now }
    [long_brake] {" "}: { $aim } au maximum au lieu de { $now }
    [coasting] {" "}: { $aim } de roue libre au lieu de { $now }
    [slow_apex] , par petits pas : { $aim } au point le plus lent au lieu de { $now }
    [slow_entry] {" "}: { $aim } à l'entrée au lieu de { $now }
    [early_slowing] , par petits pas : { $aim } à l'entrée au lieu de { $now }
    [late_throttle] {" "}: { $aim } en sortie au lieu de { $now }
    [part_throttle] {" "}: à fond { $aim } après la corde au lieu de { $now }
    [slow_exit] {" "}: { $aim } en sortie au lieu de { $now }
   *[none] {""}
}.{ $cause ->
    [none] {""}
    [steady] {""}
   *[other] {" "}Déjà atteint { $basis ->
        [driver] par { $other }
       *[other] au tour { $reached }
    } ; gain possible : jusqu'à { $loss } par tour.
}{ advice-danger }
advice-danger = { $danger ->
    [yes] {" "}Zone dangereuse signalée à cet endroit : garder une marge.
   *[no] {""}
}
