circuit = { $name } : { $length }, { $count } virages, { $right } à droite et { $left } à gauche{ $turning ->
    [clockwise] , dans le sens horaire
    [anticlockwise] , dans le sens antihoraire
   *[unknown] {""}
}.
circuit-longest = Plus longue ligne droite : { $name }, { $length }.
circuit-straight = { $name } : { $length }.
circuit-tightest = Virage le plus serré : { $corner }.
circuit-corner = { $corner }{ $nicks ->
    [0] {""}
   *[other] {" "}({ $nick })
} : { $severity }, à { $direction ->
    [left] gauche
   *[right] droite
}, entrée { $entry }, corde { $apex } et sortie { $exit } après la ligne de départ.
circuit-sector = Secteur { $number } ({ $name }) : { $length }, { $count ->
    [0] aucun virage
   *[other] { $corners }
}.
severity-1 = épingle
severity-2 = virage lent
severity-3 = virage moyen
severity-4 = virage assez rapide
severity-5 = virage rapide
severity-6 = cassure
danger-high = élevé
danger-medium = moyen
danger-low = faible
danger = Danger { $severity } { AT($corner) }, de { $start } à { $end } après la ligne de départ : « { $note } »
danger-none = Aucune zone de danger enregistrée { $count ->
    [0] pour ce circuit
   *[other] { AT($corners) }
} ; cela ne veut pas dire sans danger.
danger-do = Y garder de la marge : monter en vitesse par petits pas et voir l'endroit d'abord à pied ou avec un instructeur.
surface-cool_damp = fraîche et humide
surface-rising_grip = avec une adhérence en hausse
surface-optimal = au mieux
surface-tire_degradation = sur le déclin, dure pour les pneus
conditions-unmeasured = Météo, vent, température de piste et adhérence ne sont pas mesurés.
conditions = { $circuit } à { $hour } h, d'après les notes du circuit : surface { $surface }.
conditions-note = Note enregistrée : « { $note } »
wet = Sous la pluie, aucun point de freinage ni aucune vitesse d'un tour sec ne compte.
wet-do = Freiner plus tôt et plus doucement en ligne droite, tourner le volant une fois et lentement, gaz tard ; éviter les vibreurs peints et monter en rythme sur les premiers tours.
recorded-instead = Enregistré et utile à regarder à la place : { $quantities }.
channel-range = { $channel } : { $last } à la dernière mesure, de { $low } à { $high } pendant la session.
channel-wheels = { $quantity } à la dernière mesure : avant gauche { $fl }, avant droit { $fr }, arrière gauche { $rl }, arrière droit { $rr }.
channel-assist = { $channel } : { $count ->
    [0] jamais intervenu
    [1] intervenu une fois
   *[other] intervenu { $count } fois
}{ $placed ->
    [yes] , { $corners }
   *[no] {""}
}.
channel-gears = Rapports utilisés : { $low } à { $high }.
channel-gear = { $count ->
    [one] Rapport au point le plus lent de { $corner } : { $gear }.
   *[other] Rapport au point le plus lent de { $corner } : { $gear } dans la plupart des { $count } passages.
}
not-recorded-this = Ce n'est pas enregistré, donc inconnu.
lesson = Leçon du cours : « { $title } ».
lesson-none = Aucune leçon du cours n'en traite.
glossary-unknown = Ce terme n'est pas dans le glossaire.

glossary-apex = Point de corde : l'endroit où la voiture est au plus près de l'intérieur du virage.
glossary-late_apex = Corde tardive : toucher l'intérieur plus tard, ce qui ouvre la sortie et permet de remettre les gaz plus tôt.
glossary-double_apex = Double corde : un virage si long que la voiture touche deux fois l'intérieur.
glossary-apex_speed = Vitesse à la corde : la vitesse à l'intérieur du virage, en général la plus basse du virage.
glossary-exit_speed = Vitesse de sortie : la vitesse à la fin du virage ; elle profite à toute la ligne droite suivante.
glossary-racing_line = Trajectoire : le chemin au plus grand rayon que la route permet, extérieur, intérieur, extérieur.
glossary-turn_in = Point de braquage : l'endroit où l'on commence à braquer dans le virage.
glossary-look_ahead = Regard loin devant : les yeux sur le prochain endroit à atteindre, la corde avant de braquer, la sortie avant la corde.
glossary-chicane = Chicane : deux virages rapprochés en sens opposé ; la sortie du second compte le plus.
glossary-hairpin = Épingle : un virage serré qui fait presque demi-tour.
glossary-kerb = Vibreur : le bord surélevé de la piste ; il élargit la trajectoire mais déleste un pneu un instant.
glossary-trail_brake = Freinage dégressif : relâcher le frein peu à peu, à mesure que l'on braque, pour garder les pneus avant chargés jusque dans le virage.
glossary-early_brake_release = Relâchement trop tôt : le frein est lâché avant le braquage, et l'avant perd de la charge au moment de tourner.
glossary-load_transfer = Transfert de charge : freiner charge l'avant, accélérer l'arrière, virer l'extérieur ; un pneu chargé adhère plus.
glossary-threshold_braking = Freinage à la limite : aussi fort que les pneus le tiennent, juste avant qu'une roue se bloque.
glossary-lock_up = Blocage : une roue freinée s'arrête et glisse ; elle dirige et freine alors mal.
glossary-abs = ABS : il relâche le frein d'une roue par instants avant qu'elle se bloque, pour que la voiture reste dirigeable.
glossary-brake_point = Point de freinage : l'endroit où commence le freinage d'un virage, de préférence lié à un repère visible.
glossary-brake_end_focus = Fin du freinage : l'endroit où le frein est entièrement relâché ; y porter le regard donne la bonne vitesse d'entrée.
glossary-downhill_braking = Freinage en descente : la pente allonge le freinage, le point de freinage recule.
glossary-uphill_braking = Freinage en montée : la pente raccourcit le freinage, le point de freinage peut avancer.
glossary-brake_fade = Fading : des freins trop chauds ralentissent moins à pédale égale, ou la pédale s'allonge ; rentrer et faire vérifier.
glossary-brake_bias = Répartition de freinage : la part du freinage assurée par les roues avant.
glossary-left_foot_braking = Freinage du pied gauche : le pied gauche freine, le droit n'a pas à changer de pédale.
glossary-heel_and_toe = Talon-pointe : le pied droit freine et donne un coup de gaz en même temps, pour accorder le régime au rapport inférieur.
glossary-rev_matching = Coup de gaz au rétrogradage : le moteur tourne déjà au régime que demande le rapport inférieur.
glossary-throttle_pick_up = Reprise des gaz : l'endroit où l'accélérateur se rouvre dans ou après le virage.
glossary-coasting = Roue libre : aucune pédale ; ici frein sous { $brake }, accélérateur sous { $throttle }, plus de { $speed }.
glossary-full_commitment = Plein engagement : en ligne droite l'accélérateur est à fond, sans roue libre avant le frein.
glossary-understeer = Sous-virage : les pneus avant atteignent d'abord leur limite ; la voiture tourne moins que le volant et élargit.
glossary-oversteer = Survirage : les pneus arrière atteignent d'abord leur limite ; l'arrière décroche.
glossary-lift_off_oversteer = Survirage au lever de pied : lever le pied dans le virage déleste l'arrière, qui décroche.
glossary-counter_steering = Contre-braquage : tourner le volant du côté de la glisse pour rattraper l'arrière.
glossary-yaw_rate = Vitesse de lacet : la vitesse à laquelle le nez de la voiture tourne, en degrés par seconde.
glossary-slip_angle = Angle de dérive : l'angle entre la direction du pneu et son déplacement ; l'adhérence croît avec lui sur quelques degrés, puis baisse.
glossary-grip = Adhérence : la force qu'un pneu transmet avant de glisser ; freiner, virer et accélérer se la partagent.
glossary-friction_circle = Cercle d'adhérence : une seule adhérence pour freiner, virer et accélérer ; ce que l'un prend manque aux autres.
glossary-g_force = g : accélération en unités de pesanteur ; 1 g latéral pousse avec son propre poids.
glossary-downforce = Appui : l'air qui plaque la voiture au sol, davantage avec la vitesse.
glossary-camber = Carrossage : l'inclinaison d'une roue ; pour la route, son dévers.
glossary-slipstream = Aspiration : l'air moins dense derrière une voiture, moins de traînée en ligne droite, moins d'appui en virage.
glossary-delta = Delta : le retard d'un tour sur un autre au même endroit.
glossary-ideal_lap = Tour idéal : les meilleurs secteurs réunis ; un repère, pas une promesse.
glossary-sector = Secteur : une partie du tour avec son propre temps.
glossary-reference_lap = Tour de référence : le tour auquel on mesure les autres.
glossary-out_lap = Tour de sortie : le tour qui commence aux stands ; son temps n'est pas comparé.
glossary-in_lap = Tour de rentrée : le tour qui finit aux stands ; son temps n'est pas comparé.
glossary-stint = Relais : les tours entre la sortie des stands et le retour.
glossary-track_limits = Limites de piste : les bords de la route ; un tour avec toutes les roues au-delà ne compte en général pas.
