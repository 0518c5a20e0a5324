# Teile anderer Meldungen: wessen Session, womit verglichen, und warum.

lap-who = { $driver ->
    [own] { "" }
   *[other] { " " }({ $driver })
}
loss-than = { $than ->
    [usual] der üblichen Runde
    [best_lap] der besten Runde
   *[lap] Runde { $other }
}
loss-why = { $caused ->
    [yes] ; Ursache: { $cause } ({ $amount })
   *[no] { "" }
}
laps-which = { $which ->
    [all] { $count ->
        [one] die einzige Runde
       *[other] alle { $count } Runden
    }
    [without] { laps-number }, ohne { $out ->
        [one] Runde { $named }
       *[other] die Runden { $named }
    }
   *[some] { $count ->
        [one] Runde { $named }
       *[other] die Runden { $named }
    }
}

# Welche Runden es gibt, und ihre Zeiten

lap-best = Beste Runde{ lap-who }: { $time }, Runde { $lap }{ $count ->
    [one] { "" }
   *[other] { $some ->
        [all] , von { $count } gewerteten
       *[some] , von den { $count } gefragten
    }
}.
lap-lead = Das sind { $gap } Vorsprung auf die nächstbeste, Runde { $other }.
lap-level = Runde { $other } war gleich schnell.
lap-time = { $which ->
    [last] Letzte vollständige Runde{ lap-who }: Runde { $lap }, { $time }
    [slowest] Langsamste Runde{ lap-who }: Runde { $lap }, { $time }
    [first] Erste vollständige Runde{ lap-who }: Runde { $lap }, { $time }
   *[named] Runde { $lap }{ lap-who }: { $time }
}; { $rank ->
    [1] die beste von { $count }
   *[other] { $gap } hinter der besten, Runde { $best }; Platz { $rank } von { $count }
}.
lap-count = { $count ->
    [one] 1 Runde zählt{ lap-who }: Sie ist vollständig, keine Out- oder Inlap.
   *[other] { $count } Runden zählen{ lap-who }, Runde 1 bis { $last }: Jede ist vollständig, keine davon Out- oder Inlap.
}
lap-count-rest = Nicht gewertet: { $km } { $which ->
    [both] vor der ersten und nach der letzten Runde (Out- und Inlap)
    [out] vor der ersten Runde (Outlap)
    [in] nach der letzten Runde (Inlap)
   *[other] , die keine vollständige Runde sind
}.
lap-count-of = { $other }: { laps-number }.

# Mittelwert, Streuung, Glück, Verlauf

lap-average = Mittelwert{ lap-who }: { $mean }, über { laps-which }; Median { $median }.
lap-off-average = Runde { $lap }{ lap-who }, { $time }, ist { $gap } { $side ->
    [faster] schneller
   *[slower] langsamer
} als der Mittelwert.
session-time = { $dated ->
    [yes] Die Aufzeichnung{ lap-who } begann am { $start } und
   *[no] Die Aufzeichnung{ lap-who } hat kein Datum; sie
} dauerte { $minutes }: { $count ->
    [one] 1 vollständige Runde
   *[other] { $count } vollständige Runden
}, { $km }.
lap-only = Nur eine Runde zählt{ lap-who }, { $time }: noch nichts zum Vergleichen.
spread-steady = konstant
spread-fair = recht konstant
spread-uneven = ungleichmäßig
lap-spread = Rundenzeiten{ lap-who } { $judged }: ±{ $spread } (Standardabweichung) über { laps-which }; von { $low } bis { $high }, Spanne { $width }.
lap-spread-odd = Ohne Runde { $lap } wären es ±{ $spread }.
lap-usual = Am nächsten an der üblichen Runde ({ $usual }): Runde { $lap }, { $time }.
lap-luck = Runde { $lap } ({ $time }) liegt { $next_gap } vor der nächstbesten, Runde { $next }, und { $usual_gap } vor der üblichen Runde.
lap-luck-corner = Am meisten gewonnen in { $corner }: { $seconds } gegenüber der üblichen Runde.
lap-luck-ideal = { $whole ->
    [yes] Nach Sektoren ist diese Runde so gut wie die Idealrunde: am Stück gefahren, aber nicht wiederholt
   *[no] { $kept ->
        [0] Keiner der drei besten Sektoren stammt
        [one] Einer der drei besten Sektoren stammt
       *[other] { $kept } der drei besten Sektoren stammen
    } aus dieser Runde; die Idealrunde ist { $gap } schneller
}; Glück selbst lässt sich nicht messen.
trend-few = { $count ->
    [one] 1 Runde zeigt
   *[other] { $count } Runden zeigen
} noch keinen Verlauf.
trend-laps = { $way ->
    [slower] Die Rundenzeiten stiegen um { $slope } je Runde
    [faster] Die Rundenzeiten fielen um { $slope } je Runde
    [late-slower] Zum Schluss hin langsamer
    [late-faster] Zum Schluss hin schneller
    [row-slower] Die letzten { $row } Runden jede langsamer, zusammen { $change },
    [row-faster] Die letzten { $row } Runden jede schneller, zusammen { $change },
   *[none] Kein klarer Verlauf der Rundenzeiten
} über { $count } Runden: die ersten { $few } um { $early }, die letzten { $few } um { $late }; die beste war Runde { $best }.
trend-quantity = { $where }, { $what }: { $early } in den ersten { $number } Runden, { $late } in den letzten { $number } (Mediane).
trend-parted = Fahrer und Strecke lassen sich hier nicht trennen: Rundenzeiten allein zeigen nicht, woher der Gewinn kommt{ $noted ->
    [yes] , und Wetternotizen messen keinen Grip
   *[no] , und Wetter und Grip der Strecke sind nicht aufgezeichnet
}.

# Zwei Runden nebeneinander, und warum eine langsam war

lap-compare = { $level ->
    [yes] Runde { $lap } und Runde { $other } sind gleich schnell: { $time }
   *[no] Runde { $lap } ({ $time }) ist { $gap } schneller als Runde { $other } ({ $other_time })
}.
lap-alike = { $to ->
    [pair] Die Runden { $lap } ({ $time }) und { $other } ({ $other_time }) liegen in der Zeit am nächsten beieinander
   *[named] Am nächsten an Runde { $lap } ({ $time }) liegt in der Zeit Runde { $other } ({ $other_time })
}: { $gap } Unterschied.
lap-loses = Runde { $lap } verliert am meisten in { $corner }: { $seconds } auf Runde { $other }{ loss-why }.
lap-loses-here = Runde { $lap } verliert in { $corner } { $seconds } auf Runde { $other }{ loss-why }.
lap-explain = { $how ->
    [slow] Runde { $lap }{ lap-who }: { $time }, { $over } langsamer als die übliche Runde ({ $usual }) und { $behind } hinter der besten
    [quick] Runde { $lap }{ lap-who } war schnell: { $time }, { $over } schneller als die übliche Runde ({ $usual }){ $rank ->
        [best] { " " }und die beste
       *[inner] { "" }
    }
   *[usual] Runde { $lap }{ lap-who } war nicht langsam: { $time } gegen { $usual } der üblichen Runde; { $behind } hinter der besten
}{ $edge ->
    [first] ; sie ist vollständig, keine Outlap
    [last] ; sie ist vollständig, keine Inlap
   *[inner] { "" }
}.
lap-lost = { $corner } kostete { $seconds } gegenüber { loss-than }{ loss-why }.
lap-gained = { $corner } brachte { $seconds } gegenüber { loss-than }.
video-lap = Zum Zeigen: Runde { $lap }, { $time }{ $best ->
    [yes] , die beste
   *[no] , die beste ohne Vorfall
}. Video selbst ist hier nicht aufgezeichnet.

# Sektoren

sector-unknown = Kein Sektor hat hier eine Zeit: In jedem setzte die Aufzeichnung aus.
sector-one-lap = Mit einer Runde gibt es noch keinen schwächsten Sektor; die Zeiten:
sector-corner = Dort kostet { $corner } { $seconds } gegenüber Runde { $lap }{ loss-why }.
sector-no-corner = Keine einzelne Kurve in Sektor { $sector } kostet { $least } oder mehr.

# Die Idealrunde, und was möglich ist

ideal-unknown = Keine Idealrunde: In jeder Runde setzte die Aufzeichnung in einem Sektor aus.
ideal-lap = Idealrunde aus den besten Sektoren{ lap-who }: { $time }, { $same ->
    [yes] gleichauf mit der besten Runde, Runde { $best }
   *[no] { $gain } schneller als die beste Runde ({ $best_time }, Runde { $best })
}.
ideal-sectors = Beste Sektoren: { $s1 } (Runde { $lap1 }), { $s2 } (Runde { $lap2 }), { $s3 } (Runde { $lap3 }); Rückstand der besten Runde: { $gap1 }, { $gap2 }, { $gap3 }.
ideal-shared = Die besten Sektoren beider zusammen: { $time }, { $same ->
    [yes] nicht schneller als die bessere Runde der zwei
   *[no] { $gain } schneller als die bessere Runde der zwei
}.
ideal-honest = { $count ->
    [one] Nach Sektoren ist die Idealrunde, { $time }, Runde { $named } selbst, also schon gefahren
   *[other] Die Idealrunde, { $time }, ist aus den Runden { $named } zusammengesetzt: Jeder Teil ist gefahren, das Ganze nie
}.
ideal-usual = Realistisch zuerst: die übliche Runde ({ $usual }) an die beste heranbringen ({ $best }, Runde { $lap }), das bringt { $gain }.
theory-reference = Referenzrunde in der Datei: { $time }; die beste Runde ist { $gap } { $side ->
    [behind] langsamer
   *[ahead] schneller
}.
theory-speeds = Mit dem Kurventempo der Streckendatei läge die beste Runde bei etwa { $time }: { $gap } { $side ->
    [behind] weniger
   *[ahead] mehr
}, aus { $count } Kurven, Geraden wie gefahren.
theory-corner = Größter Abstand: { $corner }, { $lost }; { $own } am Scheitel, im Plan { $file }.
theory-limits = Der Plan ist ein Modell aus Linie und Grip, nicht aus diesem Auto, seinen Reifen oder dem Tag: ein Anhaltspunkt, kein Versprechen.
theory-none = Die Streckendatei hat keine Zieltempi, eine Referenzrunde fehlt: also kein theoretischer Plan.
goal-named = { $target } ist { $reach ->
    [done] geschafft: Die beste Runde, { $best }, ist { $gap } schneller
    [parts] { $gap } entfernt, und die besten Teile der gefahrenen Runden reichen dafür
   *[more] { $gap } von der besten Runde ({ $best }) entfernt, mehr als die besten Teile der gefahrenen Runden hergeben
}.
goal-lap = Nächstes Ziel: { $goal }; bisher beste Runde { $best }, Runde { $lap }.
goal-corner = Das meiste liegt in { $corner }: { $seconds } von der üblichen zur besten Runde{ loss-why }.
laps-number = { $count ->
    [one] 1 Runde
   *[other] { $count } Runden
}
