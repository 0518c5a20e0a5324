rival-gap = { $which ->
    [best] Meilleurs tours
   *[named] Tour { $lap } contre le tour { $other_lap } ({ $other })
} : { rival-side }.
laps-beaten = { $whose } : { $count ->
    [one] { $count } tour plus rapide
   *[other] { $count } tours plus rapides
} sur { $all } que { $lap ->
    [0] la moyenne de { $of }
   *[other] le tour { $lap } de { $of }
}, { $time }{ $count ->
    [0] {""}
    [one] {" "}: tour { $named }
   *[other] {" "}: tours { $named }
}.
rival-mean = Moyennes : { rival-side }.
rival-usual = Tours habituels : { rival-side }.
rival-corner = { $corner }{ $on ->
    [usual] , passages habituels
    [laps] , meilleurs tours
   *[named] , tour { $lap } contre tour { $other_lap }
} : { $seconds } { $side ->
    [behind] perdues sur { $other }{ loss-why }
    [ahead] gagnées sur { $other }
   *[level] d'écart, à égalité avec { $other }
}.
rival-sector = Secteur { $sector } : { $side ->
    [behind] { $gap } de plus que { $other }
    [ahead] { $gap } de moins que { $other }
   *[level] à égalité avec { $other }, à { $gap } près
}, { $own } contre { $theirs }.
rival-sectors = Par secteur contre { $other } (plus : plus lent) : secteur 1 { $s1 }, secteur 2 { $s2 }, secteur 3 { $s3 }.
rival-split = Contre { $other } : { $entry } jusqu'à la corde (freinage), { $apex } à la corde, { $exit } en sortie ; { $most ->
    [entry] l'essentiel se perd au freinage
    [apex] l'essentiel se perd à la corde
    [exit] l'essentiel se perd en sortie
   *[none] rien n'est perdu
}.
rival-alike = { $corner } : d'après l'enregistrement, point de freinage, vitesse minimale, roue libre et vitesse de sortie se valent.
rival-car = { $same ->
    [yes] Même voiture : { $own_car } pour les deux, donc rien à déduire pour la voiture
    [no] Pas la même voiture dans les données : { $own_car }, { $other } { $other_car } ; la part de la voiture dans l'écart reste inconnue
   *[unknown] La voiture n'est pas enregistrée pour les deux ; sa part dans l'écart reste inconnue
}.
rival-day = Les conditions des deux séances ont pu différer ; elles n'ont pas été mesurées.
rival-laps = { $other } : { $count ->
    [one] 1 tour compte
   *[other] { $count } tours comptent
}, et non { $said }.
rival-spread = { $other } tourne { $side ->
    [other] plus régulièrement
    [own] moins régulièrement
   *[level] aussi régulièrement
} : ±{ $other_spread } sur { $other_count } tours, contre ±{ $spread } sur { $count }.
rival-one-lap = { $other } a { $other_count ->
    [one] 1 tour
   *[other] { $other_count } tours
} qui comptent, cette séance { $count } : trop peu pour comparer la régularité.
rival-few = Si peu de tours ne disent pas grand-chose de la régularité.
progress-here = Ici jusqu'à présent : { laps-number }, le meilleur en { $best }.
progress-last = Par rapport à la séance précédente ({ $date }) : meilleur tour { gap-side }, { $now } contre { $then } ; tour habituel { $usual_side ->
    [ahead] { $usual_gap } plus rapide
    [behind] { $usual_gap } plus lent
   *[level] égal
}.
progress-series = Sur { $count } séances depuis le { $date }, le meilleur tour est passé de { $then } à { $now } : { gap-side }.
progress-spread = Dispersion des temps au tour : ±{ $now } cette fois, ±{ $then } la fois précédente.
progress-plateau = Les meilleurs tours des trois dernières séances tiennent en { $within } : un palier.
progress-corner = Plus gros gain : { $corner }, { $speed } de plus à la corde depuis la première séance.
progress-limits = La météo, les pneus et la piste de ces jours-là n'ont pas été mesurés : ce chiffre ne tient pas au seul pilote.
stuck-corner = { $corner } : pas de progrès dans cette séance, { $late } de plus que le meilleur passage dans la seconde moitié, { $early } dans la première.
improved-corner = { $corner } : { $gain } de mieux dans cette séance, { $early } de plus que le meilleur passage dans la première moitié, { $late } dans la seconde.
improved-none = { $count ->
    [one] Un tour ne montre
   *[other] { $count } tours ne montrent
} aucun virage nettement meilleur dans la seconde moitié que dans la première.
rival-side = { $side ->
    [behind] { $other } tourne { $gap } plus vite, { $other_time } contre { $time }
    [ahead] { $other } tourne { $gap } moins vite, { $other_time } contre { $time }
   *[level] à égalité avec { $other }, { $time }
}
gap-side = { $side ->
    [ahead] { $gap } plus rapide
    [behind] { $gap } plus lent
   *[level] égal
}
