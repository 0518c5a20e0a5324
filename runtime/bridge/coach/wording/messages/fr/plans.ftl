# Que faire ensuite : technique, objectifs, exercices, plan de roulage, et si, phrases radio.

technique = { $corner }, technique en général : { $spot ->
    [entry] freiner fort en ligne droite, puis relâcher le frein à mesure que le volant tourne
    [apex] entrer lentement, regarder la sortie avant la corde, un seul geste calme au volant
   *[exit] braquer plus tard pour une corde tardive, patienter avant les gaz jusqu'à ce que le volant s'ouvre, puis accélérer en douceur
}.{ advice-danger }
tips-repeat = Ensuite : refaire le meilleur tour { $count } fois de suite, puis comparer de nouveau.
tips-more = Ensuite : { $count } tours de suite, aussi semblables que possible, pour avoir de quoi comparer.
target = { $corner } : réussi quand { $count } tours de suite montrent { $cause ->
    [early_brake] un point de freinage à { $aim } avant le virage au lieu de { $now }
    [late_brake] un point de freinage à { $aim } avant le virage au lieu de { $now }
    [long_brake] { $aim } de pression maximale au lieu de { $now }
    [coasting] { $aim } de roue libre au plus, au lieu de { $now }
    [slow_apex] au moins { $aim } au point le plus lent au lieu de { $now }
    [slow_entry] au moins { $aim } à l'entrée au lieu de { $now }
    [early_slowing] au moins { $aim } à l'entrée au lieu de { $now }
    [late_throttle] au moins { $aim } en sortie au lieu de { $now }
    [part_throttle] les pleins gaz { $aim } après la corde au lieu de { $now }
    [slow_exit] au moins { $aim } en sortie au lieu de { $now }
    [match] le temps du passage plus rapide
   *[none] le même point de freinage et la même vitesse
}.
drill = Exercice, { $corner }, { $count } tours : { $cause ->
    [early_brake] depuis { $now }, déplacer le point de freinage de { $step } au plus par tour vers { $aim } ; un pas en arrière si la corde est manquée
    [late_brake] commencer à freiner à { $aim } et laisser la voiture se poser avant de braquer
    [long_brake] appuyer plus fort au début et relâcher plus tôt, un peu plus à chaque tour
    [coasting] dire « fin » au relâchement du frein et « gaz » à la remise des gaz ; rapprocher les deux mots à chaque tour
    [slow_apex] garder un peu plus de vitesse à la corde à chaque tour ; un pas en arrière si la voiture élargit
    [slow_entry] ne penser qu'à la sortie du virage précédent et laisser le reste
    [early_slowing] choisir un repère au bord de la piste et garder la vitesse jusque-là ; un repère un peu plus tardif à chaque tour
    [late_throttle] ouvrir le volant d'abord, les gaz ensuite ; un peu plus tôt à chaque tour, revenir en arrière s'il faut refermer le volant
    [part_throttle] dire « gaz » à la remise et « fond » aux pleins gaz ; rapprocher les deux mots à chaque tour, revenir en arrière s'il faut refermer le volant
    [slow_exit] braquer un peu plus tard à chaque tour et toucher la corde plus tard
    [match] refaire le passage plus rapide, avec son point de freinage et sa vitesse
   *[none] même point de freinage, même vitesse, à chaque tour
}.{ advice-danger }
plan-laps = Plan pour { $count } tours : { $warm } pour chauffer, { $focus } de travail{ plan-focus }, { $cool } pour refroidir avant de rentrer.
plan-run = { $minutes }, soit environ { $count } tours en { $usual } : { $warm } pour chauffer, { $focus } de travail{ plan-focus }, { $cool } pour refroidir avant de rentrer.
plan-short = Du temps pour { laps-counted } au plus : chauffer, rouler tranquillement, rentrer ; aucun tour de travail n'y tient.
plan-focus = { $both ->
    [0] { "" }
    [1] { "" } ({ $corner })
   *[other] { "" } ({ $corner }, puis { $next })
}
traffic = Dans le trafic : lever le pied jusqu'à retrouver de l'espace, laisser de la place, laisser passer les plus rapides ; ces tours ne comptent pas, et aucun chrono n'est à chercher.
traffic-focus = Le plan ne change pas : travailler { THE($corner) } seulement quand la piste est libre.
what-if = { $corner } : { $amount } de plus rapporteraient environ { $gain } dans le virage, une estimation d'après le tour { $lap }, pas une promesse.
what-if-lap = Chaque tour comme le tour { $lap } aurait { $side ->
    [lost] coûté
   *[saved] économisé
} { $saved } sur { $count } tours, { $each } par tour.
over-laps = Sur { $count } tours : { $total }, soit { $count } fois { $each } ; une estimation.
what-if-mended = { $corners } : jusqu'à { $total } par tour, ce qui s'y perd { loss-basis } ; une estimation, pas une promesse ; le tour serait alors d'environ { $after }.
what-if-brake = { $corner } : freiner { $amount } plus tard rapporterait environ { $gain }, une estimation d'après le tour { $lap }, si le virage passe toujours.
what-if-grip = Il faudrait environ { $need } en latéral ; le maximum dans un virage jusqu'ici est { $most }, donc { $room ->
    [yes] il semble y avoir de la marge
   *[no] cette séance n'a pas encore montré de marge pour cela
}.
what-if-build = Y aller par petits pas ; un pas en arrière dès que la voiture glisse ou élargit.{ advice-danger }
voice-line = { $corner } : { $action }{ $cause ->
    [early_brake] , à { $aim }
    [late_brake] , à { $aim }
   *[other] {""}
}.
brief-circuit = Sans séance de ce pilote : { $circuit }, le circuit actif.
