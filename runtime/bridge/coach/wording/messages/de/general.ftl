not-recorded = { $quantity }: nicht aufgezeichnet, daher nicht bekannt.
no-session = Keine Session ausgewählt, es gibt noch nichts zu messen.
unknown-session = Eine Session „{ $said }“ gibt es nicht.
no-complete-lap = Keine vollständige Runde in dieser Session, also keine Rundenzeiten und keine Kurven zum Vergleichen.
no-circuit = Zu dieser Strecke gibt es keine Datei: Kurvennamen, Gefahrenstellen und Plan sind nicht bekannt.
no-corners = Wo die Kurven dieser Strecke liegen, ist nicht bekannt.
left-out = Ohne { $corners }.
no-rival = Auf dieser Strecke gibt es keine Session eines anderen Fahrers, also niemanden zum Vergleichen.
no-earlier = Keine frühere Session auf dieser Strecke, es gibt noch nichts zu vergleichen.
no-corner = „{ $said }“ gibt es { $named ->
    [yes] auf { $circuit }
   *[no] auf dieser Strecke
} nicht; die Strecke { $count ->
    [one] hat eine Kurve, { $first }
   *[other] hat { $count } Kurven, { $first } bis { $last }
}. Welche ist gemeint?
no-corner-known = „{ $said }“ gibt es hier nicht: Die Kurven dieser Strecke sind nicht bekannt.
no-lap = „{ $said }“ gibt es nicht unter den gewerteten; { $count ->
    [one] gewertet ist nur Runde { $first }
   *[other] gewertet sind { $count } Runden, die erste Runde { $first }, die letzte Runde { $last }
}.
no-sector = „{ $said }“ gibt es nicht; die Runde hat { $count } Sektoren.
no-straight = „{ $said }“ gibt es nicht; die Geraden sind { $names }.
no-straight-known = „{ $said }“ gibt es auf dieser Strecke nicht.
no-driver = Von „{ $said }“ gibt es auf dieser Strecke keine Session; andere Fahrer hier: { $names }.
no-driver-known = Von „{ $said }“ gibt es auf dieser Strecke keine Session.
rules = Was erlaubt ist und wo, sagen das Reglement der Veranstaltung und die Streckenposten; die Aufzeichnung zeigt es nicht.
of-driver = Für { $who }:
