# Was als Nächstes zu tun ist: Technik, Ziele, Übungen, Plan einer Fahrt, Was-wäre-wenn, Funk.

technique = { $corner }, Technik allgemein: { $spot ->
    [entry] fest und gerade bremsen, dann die Bremse lösen, während der Lenkwinkel wächst
    [apex] langsam hinein, vor dem Scheitel schon zum Ausgang schauen, eine einzige ruhige Lenkbewegung
   *[exit] später einlenken für einen späten Scheitel, mit dem Gas warten, bis die Lenkung aufgeht, dann gefühlvoll steigern
}.{ advice-danger }
tips-repeat = Als Nächstes: die beste Runde { $count }-mal hintereinander wiederholen, dann neu vergleichen.
tips-more = Als Nächstes: { $count } Runden hintereinander, so gleich wie möglich, damit es etwas zu vergleichen gibt.
target = { $corner } hat geklappt, wenn { $count } Runden hintereinander zeigen: { $cause ->
    [early_brake] Bremspunkt { $aim } vor der Kurve statt { $now }
    [late_brake] Bremspunkt { $aim } vor der Kurve statt { $now }
    [long_brake] { $aim } Bremsdruck in der Spitze statt { $now }
    [coasting] höchstens { $aim } Rollen statt { $now }
    [slow_apex] mindestens { $aim } am langsamsten Punkt statt { $now }
    [slow_entry] mindestens { $aim } am Eingang statt { $now }
    [early_slowing] mindestens { $aim } am Eingang statt { $now }
    [late_throttle] mindestens { $aim } am Ausgang statt { $now }
    [part_throttle] Vollgas { $aim } hinter dem Scheitel statt { $now }
    [slow_exit] mindestens { $aim } am Ausgang statt { $now }
    [match] die Zeit der schnelleren Durchfahrt
   *[none] denselben Bremspunkt und dasselbe Tempo
}.
drill = Übung für { $corner }, { $count } Runden: { $cause ->
    [early_brake] den Bremspunkt von { $now } aus je Runde höchstens { $step } in Richtung { $aim } verschieben; einen Schritt zurück, wenn der Scheitel verfehlt wird
    [late_brake] bei { $aim } mit dem Bremsen anfangen und das Auto vor dem Einlenken zur Ruhe kommen lassen
    [long_brake] am Anfang fester drücken und früher lösen, jede Runde ein wenig mehr
    [coasting] laut „ab“ sagen, wenn die Bremse gelöst ist, und „an“, wenn das Gas kommt; die beiden Wörter jede Runde näher zusammenbringen
    [slow_apex] jede Runde etwas mehr Tempo zum Scheitel mitnehmen; einen Schritt zurück, wenn das Auto weit geht
    [slow_entry] nur an den Ausgang der Kurve davor denken, alles andere lassen
    [early_slowing] einen Punkt neben der Strecke wählen und das Tempo bis dorthin halten; den Punkt jede Runde etwas später
    [late_throttle] erst die Lenkung aufmachen, dann ans Gas; jede Runde etwas früher, zurück, wenn die Lenkung wieder zu muss
    [part_throttle] laut „an“ sagen, wenn das Gas kommt, und „voll“, wenn es ganz offen ist; die beiden Wörter jede Runde näher zusammenbringen, zurück, wenn die Lenkung wieder zu muss
    [slow_exit] jede Runde etwas später einlenken und den Scheitel später berühren
    [match] die schnellere Durchfahrt wiederholen, mit deren Bremspunkt und Tempo
   *[none] gleicher Bremspunkt, gleiches Tempo, jede Runde
}.{ advice-danger }
plan-laps = Plan für { $count } Runden: { $warm } zum Aufwärmen, { $focus } mit Schwerpunkt{ plan-focus }, { $cool } zum Abkühlen vor der Box.
plan-run = { $minutes } sind etwa { $count } Runden zu { $usual }: { $warm } zum Aufwärmen, { $focus } mit Schwerpunkt{ plan-focus }, { $cool } zum Abkühlen vor der Box.
plan-short = Zeit für höchstens { $count ->
    [one] eine Runde
   *[other] { $count } Runden
}: aufwärmen, ruhig fahren, hereinkommen; eine Runde mit Schwerpunkt passt nicht hinein.
plan-focus = { $both ->
    [0] { "" }
    [1] { "" } ({ $corner })
   *[other] { "" } (erste Hälfte { $corner }, zweite Hälfte { $next })
}
traffic = Im Verkehr: zurückfallen lassen, bis eine Lücke da ist, Platz lassen, Schnellere vorbeilassen; Runden mit Verkehr zählen nicht, und keiner Zeit hinterherjagen.
traffic-focus = Der Plan bleibt: An { $corner } nur arbeiten, wenn die Strecke frei ist.
what-if = { $amount } mehr durch { $corner } brächten in der Kurve etwa { $gain }: eine Schätzung aus Runde { $lap }, kein Versprechen.
what-if-lap = Jede Runde wie Runde { $lap } hätte über { $count } Runden { $saved } { $side ->
    [lost] gekostet
   *[saved] gespart
}, { $each } je Runde.
over-laps = Über { $count } Runden: { $total }, also { $count }-mal { $each }; eine Schätzung.
what-if-mended = { $corners }: bis zu { $total } je Runde, so viel geht dort { loss-basis } verloren; eine Schätzung, kein Versprechen; die Runde läge dann bei etwa { $after }.
what-if-brake = { $amount } später bremsen vor { $corner } brächte etwa { $gain }: eine Schätzung aus Runde { $lap }, sofern die Kurve noch getroffen wird.
what-if-grip = Das bräuchte etwa { $need } quer; das meiste in einer Kurve waren bisher { $most }, also { $room ->
    [yes] scheint Platz zu sein
   *[no] hat diese Fahrt dafür noch keine Reserve gezeigt
}.
what-if-build = In kleinen Schritten herantasten; einen Schritt zurück, sobald das Auto rutscht oder weit geht.{ advice-danger }
voice-line = { $corner }: { $action }{ $cause ->
    [early_brake] , bei { $aim }
    [late_brake] , bei { $aim }
   *[other] {""}
}.
brief-circuit = Ohne Session dieses Fahrers: { $circuit }, die eingestellte Strecke.
