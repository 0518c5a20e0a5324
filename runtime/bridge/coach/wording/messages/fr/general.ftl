not-recorded = { $quantity } : non enregistré, donc inconnu.
no-session = Aucune séance ouverte, il n'y a encore rien à mesurer.
unknown-session = Il n'y a pas de séance « { $said } ».
no-complete-lap = Aucun tour complet dans cette séance, donc ni temps au tour ni virage à comparer.
no-circuit = Aucun fichier pour ce circuit : noms des virages, dangers et plan ne sont pas connus.
no-corners = L'emplacement des virages de ce circuit n'est pas connu.
left-out = Hors { $corners }.
no-rival = Aucun autre pilote n'a de séance sur ce circuit : personne à qui se comparer.
no-earlier = Aucune séance antérieure sur ce circuit, rien à comparer pour l'instant.
no-corner = Pas de « { $said } » { $named ->
    [yes] à { $circuit }
   *[no] sur ce circuit
} ; { $count ->
    [one] il a un seul virage, { $first }
   *[other] il a { $count } virages, { OF($first) } { AT($last) }
}. Lequel ?
no-corner-known = Pas de « { $said } » ici : les virages de ce circuit ne sont pas connus.
no-lap = Pas de « { $said } » parmi les tours comptés ; { $count ->
    [one] seul le tour { $first } compte
   *[other] { $count } tours comptent, le premier est le tour { $first }, le dernier le tour { $last }
}.
no-sector = Pas de « { $said } » ; le tour a { $count } secteurs.
no-straight = Pas de « { $said } » ; les lignes droites : { $names }.
no-straight-known = Pas de « { $said } » sur ce circuit.
no-driver = Aucune séance de « { $said } » sur ce circuit ; autres pilotes ici : { $names }.
no-driver-known = Aucune séance de « { $said } » sur ce circuit.
rules = Ce qui est permis, et où : au règlement de l'épreuve et aux commissaires de le dire ; l'enregistrement ne le montre pas.
of-driver = Pour { $who } :
