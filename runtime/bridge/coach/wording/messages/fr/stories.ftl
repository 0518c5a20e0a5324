debrief-partial = Pas encore de tour complet : { $distance } parcourus en { $time }.
debrief-two-laps = Ensuite : deux tours complets, pour pouvoir les comparer.
debrief-record = Nouveau record ici : { $best } au tour { $lap }, { $gained } de mieux qu'avant.
focus-item = { $corner } : { $action }
focus-consistency = régularité
focus-exit_speed = vitesse de sortie
brief-best = Meilleur temps ici jusqu'à présent : { $best }.
brief-improved = { THE($corner) } a progressé : { $points } points de plus que lors des séances précédentes.
brief-first = Aucun tour enregistré ici : monter en rythme sur trois tours.
brief-weakest = Virage le plus faible ces derniers temps : { $corner }.
brief-goal = Objectif : { $goal }. À garder en tête : { $items }.
goal-best = un record personnel
goal-first = un premier tour propre, qui servira de repère aux suivants
read-lesson = À lire avant la prochaine sortie : { $title }.
insight-title = { $cause }
insight-detail = { $of ->
    [one] { $seconds } par tour : { $corners }, le tour habituel à côté du meilleur.
   *[other] { $seconds } par tour : { $corners }, le tour habituel à côté du meilleur, dans { $sessions } des { $of } sessions.
} Ensuite : { $action } ; commencer par { $corner }.
insight-metric = { $cause }, { $corner }
brief-slippery = À cette heure la piste n'est pas sèche : monter d'abord en rythme ; la suite vaut pour piste sèche.
