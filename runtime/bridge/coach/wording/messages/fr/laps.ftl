# Parties d'autres messages : quelle séance, par rapport à quoi, et pourquoi.

lap-who = { $driver ->
    [own] { "" }
   *[other] { " " }({ $driver })
}
loss-than = { $than ->
    [usual] au tour habituel
    [best_lap] au meilleur tour
   *[lap] au tour { $other }
}
loss-why = { $caused ->
    [yes] { " " }; cause : { $cause } ({ $amount })
   *[no] { "" }
}
laps-which = { $which ->
    [all] { laps-all }
    [without] { laps-number }, sans { $out ->
        [one] le tour { $named }
       *[other] les tours { $named }
    }
   *[some] { $count ->
        [one] le tour { $named }
       *[other] les tours { $named }
    }
}

# Quels tours il y a, et leurs temps

lap-best = Meilleur tour{ lap-who } : { $time }, tour { $lap }{ $count ->
    [one] { "" }
   *[other] { $some ->
        [all] , sur { $count } qui comptent
       *[some] , sur les { $count } demandés
    }
}.
lap-lead = Soit { $gap } d'avance sur le deuxième, le tour { $other }.
lap-level = Le tour { $other } a pris le même temps.
lap-time = { $which ->
    [last] Dernier tour complet{ lap-who } : tour { $lap }, { $time }
    [slowest] Tour le plus lent{ lap-who } : tour { $lap }, { $time }
    [first] Premier tour complet{ lap-who } : tour { $lap }, { $time }
   *[named] Tour { $lap }{ lap-who } : { $time }
} ; { $rank ->
    [1] le meilleur sur { $count }
   *[other] à { $gap } du meilleur, le tour { $best } ; rang { $rank } sur { $count }
}.
lap-count = { $count ->
    [one] 1 tour compte{ lap-who } : il est complet, ni tour de sortie ni tour de rentrée.
   *[other] { $count } tours comptent{ lap-who }, du tour 1 au tour { $last } : chacun est complet, aucun n'est un tour de sortie ou de rentrée.
}
lap-count-rest = Non compté : { $km } { $which ->
    [both] avant le premier et après le dernier tour (sortie et rentrée)
    [out] avant le premier tour (tour de sortie)
    [in] après le dernier tour (tour de rentrée)
   *[other] qui ne font pas un tour complet
}.
lap-count-of = { $other } : { laps-number }.

# Moyenne, dispersion, chance, évolution

lap-average = Moyenne{ lap-who } : { $mean }, sur { laps-which } ; médiane { $median }.
lap-off-average = Tour { $lap }{ lap-who }, { $time } : { $gap } plus { $side ->
    [faster] rapide
   *[slower] lent
} que la moyenne.
session-time = { $dated ->
    [yes] L'enregistrement{ lap-who } a commencé le { $start } et
   *[no] L'enregistrement{ lap-who } n'a pas de date ; il
} a duré { $minutes } : { $count ->
    [one] 1 tour complet
   *[other] { $count } tours complets
}, { $km }.
lap-only = Un seul tour compte{ lap-who }, { $time } : rien à comparer pour l'instant.
spread-steady = réguliers
spread-fair = assez réguliers
spread-uneven = irréguliers
lap-spread = Temps au tour{ lap-who } { $judged } : ±{ $spread } (écart type) sur { laps-which } ; de { $low } à { $high }, soit { $width } d'écart.
lap-spread-odd = Sans le tour { $lap }, ce serait ±{ $spread }.
lap-usual = Le plus proche du tour habituel ({ $usual }) : tour { $lap }, { $time }.
lap-luck = Le tour { $lap } ({ $time }) a { $next_gap } d'avance sur le deuxième, le tour { $next }, et { $usual_gap } sur le tour habituel.
lap-luck-corner = Le plus gros gain : { $corner }, { $seconds } de mieux qu'au tour habituel.
lap-luck-ideal = { $whole ->
    [yes] Par secteurs, ce tour vaut le tour idéal : un tour entier, mais pas répété
   *[no] { $kept ->
        [0] Aucun des trois meilleurs secteurs ne vient
        [1] Un des trois meilleurs secteurs vient
       *[other] { $kept } des trois meilleurs secteurs viennent
    } de ce tour ; le tour idéal est { $gap } plus rapide
} ; la chance elle-même ne se mesure pas.
trend-few = { $count ->
    [one] 1 tour ne montre
   *[other] { $count } tours ne montrent
} pas encore d'évolution.
trend-laps = { $way ->
    [slower] Les temps montent de { $slope } par tour
    [faster] Les temps baissent de { $slope } par tour
    [late-slower] Plus lent vers la fin
    [late-faster] Plus rapide vers la fin
    [row-slower] Les { $row } derniers tours chacun plus lent, { $change } en tout,
    [row-faster] Les { $row } derniers tours chacun plus rapide, { $change } en tout,
   *[none] Pas d'évolution nette des temps
} sur { $count } tours : les { $few } premiers vers { $early }, les { $few } derniers vers { $late } ; le meilleur est le tour { $best }.
trend-quantity = { $where }, { $what } : { $early } sur les { $number } premiers tours, { $late } sur les { $number } derniers (médianes).
trend-parted = Pilote et piste ne se séparent pas ici : les temps seuls ne montrent pas à qui revient le gain{ $noted ->
    [yes] , et des notes météo ne mesurent pas le grip
   *[no] , et ni la météo ni le grip de la piste ne sont enregistrés
}.

# Deux tours côte à côte, et pourquoi l'un était lent

lap-compare = { $level ->
    [yes] Les tours { $lap } et { $other } ont pris le même temps : { $time }
   *[no] Le tour { $lap } ({ $time }) est { $gap } plus rapide que le tour { $other } ({ $other_time })
}.
lap-alike = { $to ->
    [pair] Les tours { $lap } ({ $time }) et { $other } ({ $other_time }) sont les plus proches en temps
   *[named] Le plus proche du tour { $lap } ({ $time }) en temps est le tour { $other } ({ $other_time })
} : { $gap } d'écart.
lap-loses = Tour { $lap }, plus grosse perte : { $corner }, { $seconds } sur le tour { $other }{ loss-why }.
lap-loses-here = Tour { $lap }, { $corner } : { $seconds } perdues sur le tour { $other }{ loss-why }.
lap-explain = { $how ->
    [slow] Tour { $lap }{ lap-who } : { $time }, { $over } plus lent que le tour habituel ({ $usual }) et à { $behind } du meilleur
    [quick] Le tour { $lap }{ lap-who } était rapide : { $time }, { $over } de mieux que le tour habituel ({ $usual }){ $rank ->
        [best] { " " }et le meilleur
       *[inner] { "" }
    }
   *[usual] Le tour { $lap }{ lap-who } n'était pas lent : { $time } contre { $usual } au tour habituel ; à { $behind } du meilleur
}{ $edge ->
    [first] { " " }; il est complet, ce n'est pas un tour de sortie
    [last] { " " }; il est complet, ce n'est pas un tour de rentrée
   *[inner] { "" }
}.
lap-lost = { THE($corner) } a coûté { $seconds } par rapport { loss-than }{ loss-why }.
lap-gained = { THE($corner) } a rapporté { $seconds } par rapport { loss-than }.
video-lap = À montrer : le tour { $lap }, { $time }{ $best ->
    [yes] , le meilleur
   *[no] , le meilleur sans incident
}. La vidéo elle-même n'est pas enregistrée ici.

# Secteurs

sector-unknown = Aucun secteur n'a de temps ici : l'enregistrement s'est interrompu dans chacun.
sector-one-lap = Avec un seul tour, pas encore de secteur le plus faible ; les temps :
sector-corner = Dans ce secteur, { $corner } : { $seconds } de plus qu'au tour { $lap }{ loss-why }.
sector-no-corner = Aucun virage du secteur { $sector } ne coûte à lui seul { $least } ou plus.

# Le tour idéal, et ce qui est possible

ideal-unknown = Pas de tour idéal : l'enregistrement s'est interrompu dans un secteur à chaque tour.
ideal-lap = Tour idéal avec les meilleurs secteurs{ lap-who } : { $time }, { $same ->
    [yes] à égalité avec le meilleur tour, le tour { $best }
   *[no] { $gain } plus rapide que le meilleur tour ({ $best_time }, tour { $best })
}.
ideal-sectors = Meilleurs secteurs : { $s1 } (tour { $lap1 }), { $s2 } (tour { $lap2 }), { $s3 } (tour { $lap3 }) ; retard du meilleur tour : { $gap1 }, { $gap2 }, { $gap3 }.
ideal-shared = Les meilleurs secteurs des deux pilotes réunis : { $time }, { $same ->
    [yes] pas plus vite que le meilleur tour des deux
   *[no] { $gain } plus vite que le meilleur tour des deux
}.
ideal-honest = { $count ->
    [one] Par secteurs, le tour idéal, { $time }, est le tour { $named } lui-même : il a été roulé
   *[other] Le tour idéal, { $time }, est assemblé à partir des tours { $named } : chaque partie a été roulée, l'ensemble jamais
}.
ideal-usual = Réaliste d'abord : amener le tour habituel ({ $usual }) au meilleur ({ $best }, tour { $lap }), soit { $gain }.
theory-reference = Tour de référence du fichier : { $time } ; le meilleur tour est { $gap } { $side ->
    [behind] plus lent
   *[ahead] plus rapide
}.
theory-speeds = Aux vitesses de virage du fichier du circuit, le meilleur tour prendrait environ { $time } : { $gap } { $side ->
    [behind] de moins
   *[ahead] de plus
}, sur { $count } virages, lignes droites comme roulées.
theory-corner = Le plus grand écart : { $corner }, { $lost } ; { $own } à la corde, contre { $file } dans le plan.
theory-limits = Ce plan est un modèle de trajectoire et de grip, pas de cette voiture, de ses pneus ni du jour : un repère, pas une promesse.
theory-none = Le fichier du circuit n'a pas de vitesses cibles et il n'y a pas de tour de référence : donc pas de plan théorique.
goal-named = { $target } : { $reach ->
    [done] c'est fait, le meilleur tour, { $best }, est { $gap } plus rapide
    [parts] à { $gap }, et les meilleures parties des tours roulés y suffisent
   *[more] à { $gap } du meilleur tour ({ $best }), plus que ce que donnent les meilleures parties des tours roulés
}.
goal-lap = Prochain objectif : { $goal } ; meilleur tour jusqu'ici { $best }, tour { $lap }.
goal-corner = Le plus gros potentiel : { $corner }, { $seconds } entre le tour habituel et le meilleur{ loss-why }.
laps-all = { $count ->
    [one] le seul tour
   *[other] les { $count } tours
}
laps-number = { $count ->
    [one] 1 tour
   *[other] { $count } tours
}
