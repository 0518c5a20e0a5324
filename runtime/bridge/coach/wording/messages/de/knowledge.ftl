circuit = { $name }: { $length }, { $count } Kurven, { $right } rechts und { $left } links{ $turning ->
    [clockwise] , im Uhrzeigersinn
    [anticlockwise] , gegen den Uhrzeigersinn
   *[unknown] {""}
}.
circuit-longest = Längste Gerade: { $name }, { $length }.
circuit-straight = { $name }: { $length }.
circuit-tightest = Engste Kurve: { $corner }.
circuit-corner = { $corner }{ $nicks ->
    [0] {""}
   *[other] {" "}({ $nick })
}: { $severity }, nach { $direction ->
    [left] links
   *[right] rechts
}, Eingang { $entry }, Scheitel { $apex } und Ausgang { $exit } nach der Startlinie.
circuit-sector = Sektor { $number } ({ $name }): { $length }, { $count ->
    [0] keine Kurve
   *[other] { $corners }
}.
severity-1 = Haarnadel
severity-2 = langsame Kurve
severity-3 = mittelschnelle Kurve
severity-4 = recht schnelle Kurve
severity-5 = schnelle Kurve
severity-6 = Knick
danger-high = hoch
danger-medium = mittel
danger-low = gering
danger = Gefahr { $severity } bei { $corner }, { $start } bis { $end } nach der Startlinie: „{ $note }“
danger-none = Keine Gefahrenstelle hinterlegt { $count ->
    [0] für diese Strecke
   *[other] bei { $corners }
}; das heißt nicht, dass es dort sicher ist.
danger-do = Dort Reserve lassen: Tempo in kleinen Schritten steigern, die Stelle vorher zu Fuß oder mit Instruktor ansehen.
surface-cool_damp = kühl und feucht
surface-rising_grip = mit steigendem Grip
surface-optimal = im besten Zustand
surface-tire_degradation = nachlassend, hart zu den Reifen
conditions-unmeasured = Wetter, Wind, Streckentemperatur und Grip werden nicht gemessen.
conditions = { $circuit }, { $hour } Uhr, laut Streckennotiz: Belag { $surface }.
conditions-note = Hinterlegte Notiz: „{ $note }“
wet = Bei Nässe gilt kein Bremspunkt und kein Tempo einer trockenen Runde.
wet-do = Früher und sanfter bremsen, geradeaus; einmal und langsam einlenken, spät ans Gas; bemalte Randsteine meiden und über die ersten Runden aufbauen.
recorded-instead = Stattdessen aufgezeichnet und aufschlussreich: { $quantities }.
channel-range = { $channel }: zuletzt { $last }, in dieser Session { $low } bis { $high }.
channel-wheels = { $quantity } zuletzt: vorn links { $fl }, vorn rechts { $fr }, hinten links { $rl }, hinten rechts { $rr }.
channel-assist = { $channel }: { $count ->
    [0] nie im Eingriff
    [one] einmal im Eingriff
   *[other] { $count }-mal im Eingriff
}{ $placed ->
    [yes] , in { $corners }
   *[no] {""}
}.
channel-gears = Gefahrene Gänge: { $low } bis { $high }.
channel-gear = { $count ->
    [one] Gang an der langsamsten Stelle von { $corner }: { $gear }.
   *[other] Gang an der langsamsten Stelle von { $corner }: { $gear } bei den meisten von { $count } Durchfahrten.
}
not-recorded-this = Das ist nicht aufgezeichnet und daher nicht bekannt.
lesson = Lektion im Kurs: „{ $title }“.
lesson-none = Keine Lektion des Kurses behandelt das.
glossary-unknown = Dieser Begriff steht nicht im Glossar.

glossary-apex = Scheitelpunkt: der Punkt, an dem das Auto der Kurveninnenseite am nächsten kommt.
glossary-late_apex = Später Scheitel: Die Innenseite wird später berührt; das öffnet den Ausgang und erlaubt früheres Gas.
glossary-double_apex = Doppelscheitel: eine so lange Kurve, dass das Auto die Innenseite zweimal berührt.
glossary-apex_speed = Scheiteltempo: das Tempo an der Innenseite der Kurve, meist das niedrigste der Kurve.
glossary-exit_speed = Ausgangstempo: das Tempo am Kurvenende; es wirkt auf der ganzen folgenden Geraden.
glossary-racing_line = Ideallinie: der Weg mit dem größten Radius, den die Straße erlaubt, von außen nach innen nach außen.
glossary-turn_in = Einlenkpunkt: die Stelle, an der das Lenken in die Kurve beginnt.
glossary-look_ahead = Blickführung: die Augen auf der nächsten Stelle, den Scheitel vor dem Einlenken, den Ausgang vor dem Scheitel.
glossary-chicane = Schikane: zwei Kurven kurz nacheinander in Gegenrichtung; der Ausgang der zweiten zählt am meisten.
glossary-hairpin = Haarnadel: eine enge Kurve, die das Auto fast ganz herumführt.
glossary-kerb = Randstein: die erhöhte Kante der Strecke; er verbreitert die Linie, entlastet aber kurz einen Reifen.
glossary-trail_brake = Trail Braking: die Bremse mit zunehmendem Lenken nach und nach lösen, damit die Vorderreifen bis in die Kurve belastet bleiben.
glossary-early_brake_release = Zu frühes Lösen: Die Bremse ist vor dem Einlenken offen, und die Vorderreifen verlieren Last, wenn sie lenken sollen.
glossary-load_transfer = Lastverlagerung: Bremsen belastet die Vorderreifen, Gas die hinteren, Kurven die äußeren; ein belasteter Reifen hat mehr Grip.
glossary-threshold_braking = Bremsen an der Blockiergrenze: so hart, wie die Reifen halten, kurz bevor ein Rad blockiert.
glossary-lock_up = Blockieren: Ein gebremstes Rad steht und rutscht; es lenkt und bremst dann schlecht.
glossary-abs = ABS: Es löst die Bremse eines Rades für Momente, bevor es blockiert, damit das Auto lenkbar bleibt.
glossary-brake_point = Bremspunkt: die Stelle, an der das Bremsen für eine Kurve beginnt, am besten an etwas Sichtbarem festgemacht.
glossary-brake_end_focus = Bremsende: die Stelle, an der die Bremse ganz gelöst ist; der Blick dorthin bestimmt das richtige Eingangstempo.
glossary-downhill_braking = Bremsen bergab: Das Gefälle verlängert den Bremsweg, der Bremspunkt liegt früher.
glossary-uphill_braking = Bremsen bergauf: Die Steigung verkürzt den Bremsweg, der Bremspunkt darf später liegen.
glossary-brake_fade = Fading: Überhitzte Bremsen verzögern bei gleichem Pedal weniger, oder das Pedal wird lang; hereinkommen und prüfen lassen.
glossary-brake_bias = Bremsbalance: der Anteil der Bremsleistung an den Vorderrädern.
glossary-left_foot_braking = Linksbremsen: Der linke Fuß bremst, der rechte muss das Pedal nicht wechseln.
glossary-heel_and_toe = Hacke-Spitze: Der rechte Fuß bremst und gibt zugleich Zwischengas, damit die Drehzahl zum kleineren Gang passt.
glossary-rev_matching = Zwischengas: ein kurzer Gasstoß beim Herunterschalten, damit der Motor schon so schnell dreht wie im kleineren Gang.
glossary-throttle_pick_up = Gaspunkt: die Stelle, an der in oder nach der Kurve wieder Gas gegeben wird.
glossary-coasting = Rollen: kein Pedal betätigt; hier Bremse unter { $brake }, Gas unter { $throttle }, schneller als { $speed }.
glossary-full_commitment = Voll durchziehen: Auf der Geraden ist das Gas ganz offen, ohne Rollen vor der Bremse.
glossary-understeer = Untersteuern: Die Vorderreifen sind zuerst am Limit; das Auto dreht weniger als gelenkt und schiebt nach außen.
glossary-oversteer = Übersteuern: Die Hinterreifen sind zuerst am Limit; das Heck kommt.
glossary-lift_off_oversteer = Lastwechsel-Übersteuern: Gas weg in der Kurve entlastet die Hinterreifen, das Heck kommt.
glossary-counter_steering = Gegenlenken: das Lenkrad in Richtung des Rutschens drehen, um das Heck einzufangen.
glossary-yaw_rate = Gierrate: wie schnell sich die Nase des Autos dreht, in Grad pro Sekunde.
glossary-slip_angle = Schräglaufwinkel: der Winkel zwischen Richtung und Weg des Reifens; der Grip wächst mit ihm einige Grad lang, dann fällt er.
glossary-grip = Grip: die Kraft, die ein Reifen überträgt, bevor er rutscht; Bremsen, Kurven und Gas teilen sie sich.
glossary-friction_circle = Kammscher Kreis: ein Grip für Bremsen, Kurven und Gas; was eines nimmt, fehlt den anderen.
glossary-g_force = g: Beschleunigung in Einheiten der Erdanziehung; 1 g seitlich drückt mit dem eigenen Gewicht.
glossary-downforce = Abtrieb: Luft, die das Auto auf die Straße drückt, mehr mit dem Tempo.
glossary-camber = Sturz: wie weit sich ein Rad neigt; bei der Straße die Querneigung.
glossary-slipstream = Windschatten: die dünnere Luft hinter einem Auto, weniger Widerstand auf der Geraden, weniger Abtrieb in der Kurve.
glossary-delta = Delta: wie weit eine Runde an derselben Stelle hinter einer anderen liegt.
glossary-ideal_lap = Idealrunde: die besten Sektoren zusammengesetzt; ein Anhaltspunkt, kein Versprechen.
glossary-sector = Sektor: ein Teil der Runde mit eigener Zeit.
glossary-reference_lap = Referenzrunde: die Runde, an der die anderen gemessen werden.
glossary-out_lap = Outlap: die Runde, die in der Box beginnt; ihre Zeit wird nicht verglichen.
glossary-in_lap = Inlap: die Runde, die in der Box endet; ihre Zeit wird nicht verglichen.
glossary-stint = Stint: die Runden vom Verlassen der Box bis zur Rückkehr.
glossary-track_limits = Track Limits: die Streckenränder; eine Runde mit allen Rädern dahinter zählt meist nicht.
