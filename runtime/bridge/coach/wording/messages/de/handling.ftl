incident-spin = Dreher
incident-off_line = neben der Linie
incident-stopped = Stillstand auf der Strecke
incident-over_g = g-Kräfte weit über einer üblichen Runde
incident-hard_deceleration = starke Verzögerung ohne Bremse
incident-abs_active = ABS im Eingriff
incident-tc_active = Traktionskontrolle im Eingriff
trail-summary = In { $into } von { $count } angebremsten Kurven wird in die Kurve hineingebremst: Am Eingang liegt noch Druck an; bis zum Scheitel in { $apex } davon (übliche Runden).
trail-corner = { $driver }, { $where }: Spitze { $peak }, { $entry } am Eingang, { $apex } am Scheitel{ $released ->
    [yes] ; gelöst { $place }{ $side } mit { $rate }
   *[no] ; vor dem Ausgang nicht gelöst
}{ $steered ->
    [yes] , { $overlap } zusammen mit dem Lenken
   *[no] {""}
}: { $shape ->
    [trail] in die Kurve hineingebremst
   *[straight] vor dem Einlenken gelöst
}.
grip-caveat = Das heutige Maximum ist { $envelope }{ $computed ->
    [yes] , aus Tempo und Position berechnet
   *[no] {""}
}: Das hat das Auto erreicht, seine Grenze ist es nicht; eine Reserve ist ein Hinweis, kein Versprechen.
balance = { $where }: { $sign ->
    [under] mehr Lenkwinkel ohne mehr Querbeschleunigung, das kann Untersteuern sein
    [over] Gegenlenken, das kann Übersteuern sein
    [none] Lenkwinkel und Querbeschleunigung zeigen kein Unter- oder Übersteuern
   *[unknown] der Lenkwinkel ist nicht aufgezeichnet, die Balance ist deshalb nicht zu sehen
}; ob es am Fahrer oder am Auto liegt, lässt sich mit diesen Kanälen nicht trennen.
balance-pass = { $which ->
    [usual] Übliche Runde
    [lap] Runde { $lap }
   *[other] { $driver }, übliche Runde
}, { $where }: langsamste Stelle { $speed }{ $steered ->
    [yes] , Lenkwinkel bis { $steering }, { $countered ->
        [yes] gegengelenkt { $opposite }
       *[no] nicht gegengelenkt
    }
   *[no] {""}
}{ $turned ->
    [yes] , quer { $lateral }
   *[no] {""}
}{ $gas ->
    [yes] , Gas bis auf { $throttle } zurückgenommen, wieder am Gas { $pick_up }{ $side }
    [down] , Gas bis auf { $throttle } zurückgenommen
    [held] , Gas nie unter { $throttle }
   *[no] {""}
}.
incidents-count = { $count } Vorfälle in dieser Session; die ersten drei:
incidents-none = Kein Vorfall erkannt in { laps-counted }; gesucht wird nach: { $kinds }.
incident = { $lap ->
    [0] Außerhalb der gewerteten Runden
   *[other] Runde { $lap }
}{ $placed ->
    [yes] , { $where }
   *[no] {""}
}: { $kind }{ $moving ->
    [yes] {" "}bei { $speed }
   *[no] {""}
}.
incident-odd = Langsamster Moment: Runde { $lap }, { $where }, { $loss } langsamer als die übliche Runde.
incident-cause = { $cause ->
    [over] Gegengelenkt in Runde { $lap }, { $where }: ein Rutscher ist wahrscheinlich
    [under] Mehr Lenkwinkel ohne mehr Querbeschleunigung in Runde { $lap }, { $where }: die Vorderachse kann gerutscht sein
    [lift] Weniger Querbeschleunigung und kein Gegenlenken in Runde { $lap }, { $where }: das sieht nach Lupfen aus, nicht nach einem Rutscher
    [none] Kein Gegenlenken in Runde { $lap }, { $where }: kein Zeichen für einen Rutscher
   *[unknown] Der Lenkwinkel ist nicht aufgezeichnet, Runde { $lap } zeigt in { $where } deshalb nicht, ob es ein Rutscher war
}. Ein Rutscher lässt sich hier nur erschließen, nicht messen.
resolution-rate = Der Logger schreibt { $rate } Werte je Sekunde: einen alle { $step } bei { $speed }{ $fixes ->
    [fine] ; GPS-Rauschen von Punkt zu Punkt unter { $noise }, langsame Drift zeigt sich nicht
    [noisy] ; GPS-Rauschen von Punkt zu Punkt etwa { $noise }, langsame Drift zeigt sich nicht
   *[none] ; kein brauchbares GPS, die Positionen folgen aus dem zurückgelegten Weg
}.
resolution-scatter = Der Bremspunkt von { $where } streut von Runde zu Runde um { $scatter } (Standardabweichung, { $count } Runden).
resolution-told = { $asked } beim Bremspunkt: { $told ->
    [yes] auflösbar, auch von einer Runde zur anderen
    [mean] nur im Mittel mehrerer Runden auflösbar, nicht von einer Runde zur anderen
   *[no] hier nicht auflösbar, das liegt innerhalb von Abtastung und Streuung
}.
