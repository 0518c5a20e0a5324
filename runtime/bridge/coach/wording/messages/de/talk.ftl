greeting = Hallo. Bereit für Fragen zur Session: Rundenzeiten, Kurven, Bremsen oder woran als Nächstes zu arbeiten ist.
thanks = Gern geschehen, jederzeit.
who = Das ist Software, kein Mensch: ein Coach-Programm, das jede Zahl aus der Aufzeichnung berechnet.
abilities = Gefragt werden kann nach Rundenzeiten und Sektoren, jeder Kurve, Bremsen, Gas und Grip, einem anderen Fahrer, Fortschritt und dem nächsten Schritt.
style = Notiert.
off-topic = Das steht nicht in den Fahrdaten und ist hier nicht bekannt; Fragen zur Session sind willkommen.
mood = Schwere Tage hat jeder Fahrer. Die Aufzeichnung kennt nur diese Runden, nicht den Tag der anderen.
coach-speed = Übliche Antwortzeit: { $usual }, längste { $slowest }, über die letzten { $count ->
    [one] Antwort
   *[other] { $count } Antworten
}.
coach-speed-none = Noch keine Antwort gemessen.
not-understood = Nicht klar, was gemeint ist.
quoted = „{ $text }“
did-you-mean = Gemeint war vielleicht: { $choices }?
more-in-lesson = Lektion: „{ $title }“.
coach-model = Coach-Modell: { $text }
took-too-long = Das Berechnen hat zu lange gedauert; bitte noch einmal fragen.
link-also = Außerdem: { $text }
link-then = Dann: { $text }
query-found = Die Abfrage fand { $count ->
    [one] eine Zeile
   *[other] { $count } Zeilen
}{ $more ->
    [yes] , und es gibt mehr
   *[no] {""}
}: { $text }.
query-empty = Die Abfrage fand nichts: Davon wurde nichts aufgezeichnet.
query-refused = Die Abfrage wurde nicht ausgeführt: { $why }.
query-failed = Die Abfrage ergab nichts: { $why }.
script-kept = { $count ->
    [one] Ein Satz ist
   *[other] { $count } Sätze sind
} in den Notizen der Session gespeichert.
script-not-kept = Die Sätze konnten nicht gespeichert werden.
