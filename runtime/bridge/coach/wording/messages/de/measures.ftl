where-lap = Ganze Runde
measured-speed_corner = Tempo
measured-speed_straight = Spitzentempo
measured-speed_lap = Spitzentempo
measured-time_corner = Kurvenzeit
measured-time_straight = Zeit
measured-time_lap = Rundenzeit
measured-throttle_corner = Gaspedal
measured-throttle_least = kleinste Gasstellung
measured-throttle_straight = mittlere Gasstellung
measured-throttle_lap = mittlere Gasstellung
measured-brake_point = Bremspunkt
measured-brake_pressure = Bremsdruck
measured-brake_release = Bremse gelöst
measured-brake_rate = Lösegeschwindigkeit der Bremse
measured-brake_time = Bremszeit
measured-brakings = Bremsungen
measured-brake_g = Verzögerung beim Bremsen
measured-throttle_point = Gaseinsatz
measured-full_throttle = Vollgasanteil
measured-full_point = wieder Vollgas
measured-accel_g = Beschleunigung
measured-lateral_g = Querbeschleunigung
measured-total_g = kombinierte g
measured-steering = Lenkwinkel
measured-corrections = Lenkkorrekturen
measured-coasting = Rollen ohne Pedal
measured-rpm = Drehzahl
measured-mean_speed = Durchschnittstempo
measured-yaw_rate = Gierrate
at-none = {""}
at-entry = {" "}am Eingang
at-apex = {" "}am Scheitel
at-exit = {" "}am Ausgang
at-entry_apex = {" "}vom Eingang bis zum Scheitel
at-apex_exit = {" "}vom Scheitel bis zum Ausgang
at-entry_exit = {" "}vom Eingang bis zum Ausgang
side-none = {""}
side-before-entry = {" "}vor der Kurve
side-after-entry = {" "}nach dem Kurveneingang
side-before-apex = {" "}vor dem Scheitel
side-after-apex = {" "}nach dem Scheitel
end-high = am höchsten
end-low = am niedrigsten
end-early = am frühesten
end-late = am spätesten
end-long = am längsten
end-short = am kürzesten
verdict-yes = Ja:{" "}
verdict-no = Nein:{" "}
verdict-right = Stimmt:{" "}
verdict-wrong = Stimmt nicht:{" "}
verdict-partly = Nicht in jeder Runde:{" "}
verdict-somewhere = Nicht überall:{" "}
measure-best = { $where }, { $what }{ $at }{ lap-who }: { $best }{ $side } in der besten Runde (Runde { $lap }){ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $few ->
    [yes] {""}
   *[no] , { $usual } in der üblichen Runde
}.
measure-laps = { $where }, { $what }{ $at }{ lap-who }, { $count ->
    [one] Runde { $laps }
   *[other] Runden { $laps }
}: { $values }{ $side }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ beside-usual }.
measure-mean = { $where }, { $what }{ $at }{ lap-who }: { $mean }{ $side } im Mittel von { laps-counted }; { $usual } in der üblichen Runde.
measure-total = { $where }, { $what }{ $at }{ lap-who }: { $total } insgesamt in { laps-counted }, im Mittel { $mean } je Runde.
measure-peak = { $where }, { $what }{ $at }{ lap-who }: { nth } { $value }{ $side }, Runde { $lap }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $ends ->
    [yes] ; am anderen Ende { $last }, Runde { $last_lap }
   *[no] {""}
}{ beside-usual }.
measure-limit = { $where }, { $what }{ $at }{ lap-who }: { $side ->
    [below] unter { $limit }
   *[above] über { $limit }
} in { $count } von { $all } Runden{ $listed ->
    [yes] : { $count ->
        [one] Runde { $named }
       *[other] Runden { $named }
    }
   *[no] {""}
}.
measure-share = Das sind { $share } { $lap ->
    [0] der { $count } Runden
   *[other] von Runde { $lap }
}.
none-where = { $sort ->
    [lift] Gas wegnehmen
   *[other] { $what }
}: { $hits ->
    [0] in jeder der { $count } Kurven vorhanden
   *[other] in keiner Runde in { $hits } von { $count } Kurven: { $corners }
}.
measure-none = { $where }, { $what }{ $at }{ lap-who }: keine Werte in { $count ->
    [one] der einen Runde
   *[other] allen { $count } Runden
}.
measure-not-closed = { $where }: das Gas wurde nie ganz weggenommen, kleinste Stellung { $least }; deshalb gibt es keinen Gaseinsatz.
measure-rival-none = { $where }, { $what }{ $at }: kein Wert von { $other }.
full-throttle-run = Längstes Vollgas{ lap-who }: { $seconds } in Runde { $lap }, { $length }, von { $begin } bis { $end }.
nth = { $nth ->
    [1] { $end }
   *[other] Platz { $nth } (1: { $end })
}
measured-lost = Zeitverlust
measured-won = Zeitgewinn
places-passing = { $count } von { $all } { places-all }{ $count ->
    [0] {""}
   *[other] : { $named }
}; { $what }{ $at }{ $compared ->
    [early] , über { $limit } früher als { $name }
    [late] , über { $limit } später als { $name }
    [high] , über { $limit } höher als { $name }
    [low] , über { $limit } niedriger als { $name }
    [long] , über { $limit } länger als { $name }
    [short] , über { $limit } kürzer als { $name }
   *[none] {" "}{ $side ->
        [below] unter
       *[above] über
    } { $limit }
}{ $loses ->
    [yes] {" "}{ loss-basis }
   *[no] {" "}(übliche Runde)
}.
rank-listed = { $what }{ $at }{ lap-who }, { $every ->
    [yes] Kurve für Kurve
   *[no] { $end } von { $count } { places-all }
} ({ which-lap }): { $listed }{ $side }.
rank-lost = { $where } kostet { $nth ->
    [1] { $end ->
        [least] am wenigsten
       *[most] am meisten
    }: { $loss }
   *[other] { $loss } (Platz { $nth })
} { $lap ->
    [0] in der üblichen Runde
   *[other] in Runde { $lap }
} gegenüber der besten Zeit dort ({ $own }, beste { $best }){ $count ->
    [0] {""}
   *[other] ; die anderen: { $listed }
}.
rank-places = { $where }: { $what }{ $at }{ lap-who } { $value }{ $side }, { nth } von { $count } { places-all } ({ which-lap }){ $count ->
    [2] {""}
   *[other] {"; "}{ $nth ->
        [1] dann
       *[other] Platz 1:
    } { $second } mit { $second_value }
}; am anderen Ende { $last } mit { $last_value }.
rank-level = { $count } { places-all } gleich, { $what }{ $at }{ lap-who }: { $value }{ $side } ({ which-lap }).
compare = { $where }, { $what }{ $at }: { whose-first }{ $own }{ $side } { $own_of ->
    [usual] in der üblichen Runde
   *[lap] in Runde { $lap }
}; { $other ->
    [none] {""}
   *[other] { $other }{" "}
}{ $theirs } { $against ->
    [usual] in der üblichen Runde
    [best_pass] bei der besten Durchfahrt (Runde { $target_lap })
    [best_lap] in der besten Runde (Runde { $target_lap })
    [plan] im Plan der Strecke
   *[lap] in Runde { $target_lap }
}: { $ahead ->
    [none] {""}
   *[other] { $ahead }{" "}
}{ $compared ->
    [level] gleichauf, { $difference } Unterschied
    [early] { $difference } früher
    [late] { $difference } später
    [low] { $difference } weniger
    [long] { $difference } länger
    [short] { $difference } kürzer
   *[high] { $difference } mehr
}{ $both ->
    [yes] {"; üblich sind "}{ $usual } und { $other_usual }
   *[no] {""}
}{ $lost ->
    [yes] {"; die Kurve kostet"} { $loss } { loss-when }
    [no] {"; in der Kurve geht keine Zeit verloren"}
    [gained] {"; die Kurve bringt"} { $loss } { loss-when }
   *[unknown] {""}
}.
range = { $where }, { $what }{ $at }{ lap-who }: { whose-first }{ $usual }{ $side } in der üblichen Runde, von { $least } (Runde { $other_lap }) bis { $most } (Runde { $lap }){ $asked ->
    [width] , eine Spanne von { $width } über { $count } Runden, Standardabweichung { $spread }
    [some] {"; etwas davon in"} { $hits } von { $count } Runden
   *[so] {"; so in"} { $hits } von { $count } Runden
}.
judge-nowhere = Nein: { $what }{ $at } { $compared ->
    [early] früher
    [late] später
    [low] niedriger
    [long] länger
    [short] kürzer
   *[high] höher
} als { $other ->
    [none] bei der besten Durchfahrt, und dadurch Zeit verloren, in keiner von { $count } Kurven
   *[other] { $other } in keiner von { $count } Kurven
}.
spread-few = { $count ->
    [one] Nur eine vollständige Runde
   *[other] Nur { $count } vollständige Runden
}: zu wenige, um Wiederholbarkeit zu beurteilen.
spread-corners = { $whose ->
    [none] {""}
   *[other] { $whose }:{" "}
}{ $first ->
    [steady] Am gleichmäßigsten{ spread-place }: { $steady }; am ungleichmäßigsten{ spread-place }: { $loose }
   *[loose] Am ungleichmäßigsten{ spread-place }: { $loose }; am gleichmäßigsten{ spread-place }: { $steady }
} ({ $what }{ $at }{ lap-who }, Standardabweichung, { $count } Runden).
spread-place = { $nth ->
    [1] {""}
   *[other] , Platz { $nth }
}
claim-flat = { $where }, { $lifted ->
    [none] Vollgas in { $count ->
        [one] dieser Runde
       *[other] allen { $count } Runden
    }, Gas nie unter { $least }
    [few] gelupft in { $number ->
        [one] Runde { $laps }
       *[other] den Runden { $laps }
    }, bis auf { $least }
    [all] gelupft in allen { $count } Runden, bis auf { $least }
   *[many] gelupft in { $number } von { $count } Runden, bis auf { $least } (Runde { $lap })
}.
beside-usual = { $few ->
    [yes] {""}
   *[no] {"; "}{ $usual } in der üblichen Runde
}
laps-counted = { $count ->
    [one] einer Runde
   *[other] { $count } Runden
}
places-all = { $of ->
    [road] Geraden
   *[corner] Kurven
}
which-lap = { $lap ->
    [0] übliche Runde
   *[other] Runde { $lap }
}
whose-first = { $whose ->
    [none] {""}
   *[other] { $whose }{" "}
}
loss-when = { $own_of ->
    [lap] auf dieser Runde
   *[other] je Runde
}
