debrief-partial = Noch keine ganze Runde: { $distance } in { $time } aufgezeichnet.
debrief-two-laps = Als Nächstes: zwei ganze Runden, damit sie sich vergleichen lassen.
debrief-record = Neue Bestzeit hier: { $best } in Runde { $lap }, { $gained } schneller als zuvor.
focus-item = { $corner }: { $action }
focus-consistency = Konstanz
focus-exit_speed = Tempo am Kurvenausgang
brief-best = Bisherige Bestzeit hier: { $best }.
brief-improved = { $corner } ist besser geworden: { $points } Punkte mehr als in den Sessions davor.
brief-first = Hier ist noch keine Runde gespeichert: über drei Runden aufbauen.
brief-weakest = Zuletzt die schwächste Kurve: { $corner }.
brief-goal = Ziel: { $goal }. Im Kopf behalten: { $items }.
goal-best = eine persönliche Bestzeit
goal-first = eine erste saubere Runde, an der sich die nächsten messen
read-lesson = Zu lesen vor der nächsten Ausfahrt: { $title }.
insight-title = { $cause }
insight-detail = { $of ->
    [one] { $seconds } je Runde in { $corners }, die übliche Runde neben der besten.
   *[other] { $seconds } je Runde in { $corners }, die übliche Runde neben der besten, in { $sessions } von { $of } Sessions.
} Als Nächstes: { $action }, zuerst in { $corner }.
insight-metric = { $cause } in { $corner }
brief-slippery = Um diese Zeit ist der Belag nicht trocken: erst aufbauen; das Folgende gilt für trockene Strecke.
