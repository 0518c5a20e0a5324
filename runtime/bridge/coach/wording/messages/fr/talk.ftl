greeting = Bonjour. Prêt pour les questions sur la séance : temps au tour, virages, freinage ou prochain axe de travail.
thanks = Avec plaisir, à tout moment.
who = C'est un logiciel, pas une personne : un programme de coaching qui calcule chaque chiffre à partir de l'enregistrement.
abilities = On peut demander : temps au tour et secteurs, chaque virage, freinage, gaz et adhérence, un autre pilote, les progrès et la suite du travail.
style = Noté.
off-topic = Ce n'est pas dans les données de conduite, donc inconnu ici ; les questions sur la séance sont les bienvenues.
mood = Chaque pilote connaît des jours difficiles. L'enregistrement ne connaît que ces tours, pas la journée des autres.
coach-speed = Temps de réponse habituel : { $usual }, le plus long { $slowest }, sur { $count ->
    [one] la dernière réponse
   *[other] les { $count } dernières réponses
}.
coach-speed-none = Aucune réponse chronométrée pour l'instant.
not-understood = Le sens de la question n'est pas clair.
quoted = « { $text } »
did-you-mean = S'agit-il de : { $choices } ?
more-in-lesson = Leçon : « { $title } ».
coach-model = Modèle du coach : { $text }
took-too-long = Le calcul a pris trop de temps ; merci de redemander.
link-also = Aussi : { $text }
link-then = Ensuite : { $text }
query-found = La requête a trouvé { $count ->
    [one] une ligne
   *[other] { $count } lignes
}{ $more ->
    [yes] , et il y en a d'autres
   *[no] {""}
} : { $text }.
query-empty = La requête n'a rien trouvé : rien de tel n'est enregistré.
query-refused = La requête n'a pas été exécutée : { $why }.
query-failed = La requête n'a rien donné : { $why }.
script-kept = { $count ->
    [one] Une phrase est gardée
   *[other] { $count } phrases sont gardées
} dans les notes de la séance.
script-not-kept = Les phrases n'ont pas pu être gardées.
