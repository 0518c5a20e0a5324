incident-spin = tête-à-queue
incident-off_line = écart de trajectoire
incident-stopped = arrêt en piste
incident-over_g = g bien au-dessus d'un tour habituel
incident-hard_deceleration = forte décélération sans frein
incident-abs_active = ABS en action
incident-tc_active = antipatinage en action
trail-summary = Freinage dégressif dans { $into } des { $count } virages freinés, frein encore serré en entrée ; jusqu'à la corde dans { $apex } d'entre eux (tours habituels).
trail-corner = { $driver }, { $where } : pointe { $peak }, { $entry } en entrée, { $apex } à la corde{ $released ->
    [yes] {" ;"} frein relâché { $place }{ $side } à { $rate }
   *[no] {" ;"} frein non relâché avant la sortie
}{ $steered ->
    [yes] , { $overlap } avec du volant en même temps
   *[no] {""}
} : { $shape ->
    [trail] freinage dégressif jusque dans le virage
   *[straight] relâché avant de braquer
}.
grip-caveat = Le maximum du jour est { $envelope }{ $computed ->
    [yes] , calculé d'après vitesse et position
   *[no] {""}
} : ce que la voiture a atteint, pas sa limite ; une réserve est un indice, pas une promesse.
balance = { $where } : { $sign ->
    [under] plus de volant sans plus de g latéraux, ce qui peut être du sous-virage
    [over] contre-braquage, ce qui peut être du survirage
    [none] volant et g latéraux ne montrent ni sous-virage ni survirage
   *[unknown] l'angle de volant n'est pas enregistré, l'équilibre ne se voit donc pas
} ; ces canaux ne permettent pas de séparer le pilote de la voiture.
balance-pass = { $which ->
    [usual] Tour habituel
    [lap] Tour { $lap }
   *[other] { $driver }, tour habituel
}, { $where } : { $speed } au plus lent{ $steered ->
    [yes] , volant jusqu'à { $steering }, { $countered ->
        [yes] contre-braquage { $opposite }
       *[no] pas de contre-braquage
    }
   *[no] {""}
}{ $turned ->
    [yes] , { $lateral } en latéral
   *[no] {""}
}{ $gas ->
    [yes] , accélérateur réduit à { $throttle }, repris { $pick_up }{ $side }
    [down] , accélérateur réduit à { $throttle }
    [held] , accélérateur jamais sous { $throttle }
   *[no] {""}
}.
incidents-count = { $count } incidents dans cette séance, dont les trois premiers :
incidents-none = Aucun incident détecté sur { laps-counted } ; recherchés : { $kinds }.
incident = { $lap ->
    [0] Hors des tours comptés
   *[other] Tour { $lap }
}{ $placed ->
    [yes] , { $where }
   *[no] {""}
} : { $kind }{ $moving ->
    [yes] {" "}à { $speed }
   *[no] {""}
}.
incident-odd = Moment le plus lent : tour { $lap }, { $where }, { $loss } de plus que le tour habituel.
incident-cause = { $cause ->
    [over] Contre-braquage au tour { $lap }, { $where } : une glisse est probable
    [under] Plus de volant sans plus de g latéraux au tour { $lap }, { $where } : l'avant a pu glisser
    [lift] Moins de g latéraux et pas de contre-braquage au tour { $lap }, { $where } : cela ressemble à un lever de pied, pas à une glisse
    [none] Pas de contre-braquage au tour { $lap }, { $where } : aucun signe de glisse
   *[unknown] L'angle de volant n'est pas enregistré, le tour { $lap } ne montre donc pas de glisse ({ $where })
}. Une glisse ne peut ici être que déduite, jamais mesurée.
resolution-rate = L'enregistreur écrit { $rate } valeurs par seconde : une tous les { $step } à { $speed }{ $fixes ->
    [fine] {" ;"} bruit GPS d'un point à l'autre sous { $noise }, une dérive lente ne se voit pas
    [noisy] {" ;"} bruit GPS d'un point à l'autre d'environ { $noise }, une dérive lente ne se voit pas
   *[none] {" ;"} pas de GPS utilisable, les positions viennent de la distance
}.
resolution-scatter = Point de freinage, { $where } : varie de { $scatter } d'un tour à l'autre (écart type, { $count } tours).
resolution-told = { $asked } au point de freinage : { $told ->
    [yes] cela se distingue, même d'un tour à l'autre
    [mean] cela ne se distingue qu'en moyenne sur plusieurs tours, pas d'un tour à l'autre
   *[no] trop peu pour se distinguer ici : l'échantillonnage et la dispersion sont du même ordre
}.
