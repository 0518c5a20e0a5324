rival-gap = { $which ->
    [best] Beste Runden
   *[named] Runde { $lap } gegen Runde { $other_lap } von { $other }
}: { rival-side }.
laps-beaten = { $whose }: { $count } von { $all } Runden schneller als { $lap ->
    [0] der Mittelwert von { $of }
   *[other] Runde { $lap } von { $of }
}, { $time }{ $count ->
    [0] {""}
    [one] : Runde { $named }
   *[other] : Runden { $named }
}.
rival-mean = Mittelwerte: { rival-side }.
rival-usual = Übliche Runden: { rival-side }.
rival-corner = { $corner }{ $on ->
    [usual] , übliche Durchfahrten
    [laps] , beste Runden
   *[named] , Runde { $lap } gegen Runde { $other_lap }
}: { $seconds } { $side ->
    [behind] auf { $other } verloren{ loss-why }
    [ahead] auf { $other } gewonnen
   *[level] Unterschied, gleichauf mit { $other }
}.
rival-sector = Sektor { $sector }: { $side ->
    [behind] { $gap } langsamer als { $other }
    [ahead] { $gap } schneller als { $other }
   *[level] gleichauf mit { $other }, { $gap } Unterschied
}, { $own } gegen { $theirs }.
rival-sectors = Nach Sektoren gegen { $other } (Plus ist langsamer): Sektor 1 { $s1 }, Sektor 2 { $s2 }, Sektor 3 { $s3 }.
rival-split = Gegen { $other }: { $entry } bis zum Scheitel (Bremsen), { $apex } am Scheitel, { $exit } am Ausgang; { $most ->
    [entry] das meiste geht beim Bremsen verloren
    [apex] das meiste geht am Scheitel verloren
    [exit] das meiste geht am Ausgang verloren
   *[none] nichts geht verloren
}.
rival-alike = { $corner }: Bremspunkt, Mindesttempo, Rollzeit und Ausgangstempo sind gleich, soweit aufgezeichnet.
rival-car = { $same ->
    [yes] Gleiches Auto: Beide fuhren { $own_car }, für das Auto ist nichts abzuziehen
    [no] Nicht dasselbe Auto in den Daten: { $own_car }, { $other } { $other_car }; wie viel vom Abstand am Auto liegt, lässt sich nicht sagen
   *[unknown] Nicht für beide ist das Auto aufgezeichnet; wie viel vom Abstand am Auto liegt, lässt sich nicht sagen
}.
rival-day = Die Bedingungen beider Fahrten können verschieden gewesen sein; sie wurden nicht gemessen.
rival-laps = { $other }: { $count ->
    [one] 1 Runde zählt
   *[other] { $count } Runden zählen
}, nicht { $said }.
rival-spread = { $side ->
    [other] { $other } ist konstanter
    [own] { $other } ist weniger konstant
   *[level] So konstant wie { $other }
}: ±{ $other_spread } über { $other_count } Runden, gegen ±{ $spread } über { $count }.
rival-one-lap = { $other } hat { $other_count ->
    [one] 1 gewertete Runde
   *[other] { $other_count } gewertete Runden
}, diese Session { $count }: zu wenige, um zu sagen, wer konstanter ist.
rival-few = So wenige Runden sagen nicht viel darüber, wer konstanter ist.
progress-here = Bisher hier: { laps-number }, die beste { $best }.
progress-last = Gegenüber der Session davor ({ $date }): beste Runde { gap-side }, { $now } gegen { $then }; übliche Runde { $usual_side ->
    [ahead] { $usual_gap } schneller
    [behind] { $usual_gap } langsamer
   *[level] gleich
}.
progress-series = Über { $count } Sessions seit { $date } ging die beste Runde von { $then } auf { $now }: { gap-side }.
progress-spread = Streuung der Rundenzeiten: diesmal ±{ $now }, beim Mal davor ±{ $then }.
progress-plateau = Die besten Runden der letzten drei Sessions liegen innerhalb von { $within }: ein Plateau.
progress-corner = Am meisten gewonnen in { $corner }: { $speed } mehr am Scheitel seit der ersten Session.
progress-limits = Wetter, Reifen und Strecke dieser Tage wurden nicht gemessen: Die Zahl liegt also nicht allein am Fahrer.
stuck-corner = In dieser Session wurde { $corner } nicht besser: { $late } über der besten Zeit dort in der zweiten Hälfte, { $early } in der ersten.
improved-corner = { $corner } wurde in dieser Session um { $gain } besser: { $early } über der besten Zeit dort in der ersten Hälfte, { $late } in der zweiten.
improved-none = { $count ->
    [one] Eine Runde zeigt
   *[other] { $count } Runden zeigen
} keine Kurve, die von der ersten zur zweiten Hälfte klar besser wurde.
rival-side = { $side ->
    [behind] { $other } ist { $gap } schneller, { $other_time } gegen { $time }
    [ahead] { $other } ist { $gap } langsamer, { $other_time } gegen { $time }
   *[level] gleichauf mit { $other }, { $time }
}
gap-side = { $side ->
    [ahead] { $gap } schneller
    [behind] { $gap } langsamer
   *[level] gleich
}
