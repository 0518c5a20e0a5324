# Wo Zeit liegen bleibt und warum, was gut war und was zu tun ist.

loss-basis = { $basis ->
    [usual] in Runde { $lap } gegenüber der üblichen
    [driver] { $lap ->
        [0] in der üblichen Runde gegenüber der üblichen von { $other }
       *[other] in Runde { $lap } gegenüber der besten Runde von { $other }
    }
    [best_pass] in Runde { $lap } gegenüber den besten Durchfahrten
   *[best_lap] { $lap ->
        [0] in der üblichen Runde gegenüber der besten
       *[other] in Runde { $lap } gegenüber der besten
    }
}
loss-one-lap = Nur eine vollständige Runde und niemand zum Vergleichen: Wo Zeit liegen bleibt, zeigt sich ab der zweiten Runde.
loss-none = { loss-sector }Keine Kurve kostet { loss-basis } messbar Zeit.
loss-unmeasured = { $corner } wurde nicht in beiden Runden ganz aufgezeichnet, also ist nicht bekannt, was sie kostet.
loss-sector = { $sector ->
    [0] {""}
   *[other] Sektor { $sector }:{" "}
}
group-left = Linkskurven
group-right = Rechtskurven
group-slow = langsame Kurven
group-fast = schnelle Kurven
loss-groups = Am meisten kosten { $first }: { $first_lost } ({ $first_corners }); { $second } { $second_lost } ({ $second_corners }), { loss-basis }.
loss-total = Insgesamt { $gain } je Runde: { $usual } in der üblichen Runde, { $best } in der besten (Runde { $lap }).
loss-most = { $sector ->
    [0] { $corner } kostet am meisten
   *[other] In Sektor { $sector } kostet { $corner } am meisten
}: { $loss } { loss-basis }.
loss-spot = Am { $spot } kostet { $corner } am meisten: { $part } { loss-basis }.
loss-next = { $count ->
    [1] Danach: { $corner }, { $loss }.
   *[other] Danach: { $corner }, { $loss }, dann { $next }, { $after }.
}
loss-corner = { $corner } kostet { $loss } { loss-basis }.
loss-with-straight = Mit der Geraden danach kostet { $corner } { $loss } { loss-basis }.
loss-even = { $corner } kostet { loss-basis } messbar keine Zeit.
loss-gain = { $corner } bringt { $loss } { loss-basis }.
loss-cause = Ursache: { loss-by }{ $more ->
    [0] {""}
   *[other] ; dazu { $also }
}.
loss-by = { $cause ->
    [early_brake] { $amount } früher gebremst
    [early_slowing] { $amount } früher langsamer geworden
    [late_brake] { $amount } später gebremst und zu schnell hineingefahren
    [long_brake] { $amount } weniger Spitzendruck auf der Bremse, daher länger auf der Bremse
    [coasting] { $amount } länger ohne Pedal gerollt
    [slow_apex] { $amount } langsamer am langsamsten Punkt
    [slow_entry] { $amount } langsamer in der Anfahrt
    [late_throttle] { $amount } später beschleunigt
    [part_throttle] { $amount } später voll am Gas
    [slow_exit] { $amount } langsamer am Ausgang
   *[none] keine einzelne sticht heraus
}
loss-parts = { $corner } in Teilen: Eingang { $entry }, Scheitel { $apex }, Ausgang samt Gerade danach { $exit }.
pass-brake = { $corner }, Bremspunkt: { $own } vor der Kurve, { loss-beside } { $best }.
pass-speed = { $corner }: langsamster Punkt { $low }, Ausgang { $leave }; { loss-beside } { $best_low } und { $best_leave }.
loss-beside = { $basis ->
    [usual] übliche Runde
    [driver] { $other }
    [best_pass] beste Durchfahrt
   *[best_lap] beste Runde
}
choice = { $where ->
    [0] Ganze Runde
   *[other] { $corner }
}: Eingang { $entry }, Ausgang { $exit } { loss-basis }. { $side ->
    [entry] Das Bremsen bringt mehr, also zuerst das, dann der Ausgang
    [exit] Der Ausgang bringt mehr, also zuerst der; das Bremsen bleibt, wie es ist
   *[neither] Weder das Bremsen noch der Ausgang kostet dort Zeit
}.
summary-laps = { $count ->
    [one] Eine Runde zählt: { $best }, Runde { $best_lap }
   *[other] { $count } Runden zählen: die beste { $best } (Runde { $best_lap }), die übliche { $usual }, Streuung { $spread }
}.
strong-quicker = { $corner } ist eine Stärke: { $loss } schneller als { $other }, beste Runde gegen beste Runde.
strong-steady = Gleichmäßigste Kurve: { $corner }, alle { $count } Durchfahrten innerhalb von { $spread }.
strong-gained = Die beste Runde ist { $gained } schneller als Runde { $start }: Runde { $best_lap } zeigt, was möglich ist.
strong-none = Noch lässt sich keine Stärke zeigen: Dazu braucht es drei vollständige Runden oder einen anderen Fahrer.

action-brake_later = später bremsen
action-hold_speed = das Tempo etwas länger halten
action-brake_harder = kürzer bremsen, mit mehr Druck am Anfang
action-brake_earlier = etwas früher bremsen und das Auto zur Ruhe kommen lassen
action-stay_on_pedal = von der Bremse aufs Gas wechseln, ohne dazwischen zu rollen
action-more_apex = mehr Tempo zum Scheitel mitnehmen
action-exit_before = zuerst den Ausgang der Kurve davor verbessern
action-earlier_throttle = Lenkung aufmachen, dann früher ans Gas gehen
action-full_sooner = das Gas in einem Zug voll öffnen, während die Lenkung aufgeht
action-open_exit = später einlenken und den Ausgang weiter aufmachen
action-keep = den üblichen Bremspunkt und das übliche Tempo halten und wiederholen
action-match = die schnellere Durchfahrt nachfahren
action-repeat = genau so wiederholen
advice = { $corner }: { $action }{ $cause ->
    [early_brake] , höchstens { $step } auf einmal, von { $now } auf { $aim } vor der Kurve
    [late_brake] : { $aim } vor der Kurve statt { $now }
    [long_brake] : { $aim } in der Spitze statt { $now }
    [coasting] : { $aim } Rollen statt { $now }
    [slow_apex] , in kleinen Schritten: { $aim } am langsamsten Punkt statt { $now }
    [slow_entry] : { $aim } am Eingang statt { $now }
    [early_slowing] , in kleinen Schritten: { $aim } am Eingang statt { $now }
    [late_throttle] : { $aim } am Ausgang statt { $now }
    [part_throttle] : Vollgas { $aim } hinter dem Scheitel statt { $now }
    [slow_exit] : { $aim } am Ausgang statt { $now }
   *[none] {""}
}.{ $cause ->
    [none] {""}
    [steady] {""}
   *[other] {" "}Schon erreicht { $basis ->
        [driver] von { $other }
       *[other] in Runde { $reached }
    }; bringt bis zu { $loss } je Runde.
}{ advice-danger }
advice-danger = { $danger ->
    [yes] {" "}Dort ist eine Gefahrenzone hinterlegt: Reserve lassen.
   *[no] {""}
}
