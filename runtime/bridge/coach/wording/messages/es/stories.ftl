debrief-partial = Aún sin vuelta completa: { $distance } recorridos en { $time }.
debrief-two-laps = Lo siguiente: dos vueltas completas, para poder compararlas.
debrief-record = Nueva mejor vuelta aquí: { $best } en la vuelta { $lap }, { $gained } más rápida que antes.
focus-item = { $corner }: { $action }
focus-consistency = regularidad
focus-exit_speed = velocidad de salida
brief-best = Mejor tiempo aquí hasta ahora: { $best }.
brief-improved = { THE($corner) } ha mejorado: { $points } puntos más que en las sesiones anteriores.
brief-first = Aún no hay ninguna vuelta guardada aquí: subir el ritmo en tres vueltas.
brief-weakest = La curva más floja últimamente: { $corner }.
brief-goal = Objetivo: { $goal }. Para tener en mente: { $items }.
goal-best = una mejor vuelta personal
goal-first = una primera vuelta limpia, con la que medir las siguientes
read-lesson = Para leer antes de la próxima salida: { $title }.
insight-title = { $cause }
insight-detail = { $of ->
    [one] { $seconds } por vuelta en { $corners }: la vuelta habitual junto a la mejor.
   *[other] { $seconds } por vuelta en { $corners }: la vuelta habitual junto a la mejor, en { $sessions } de { $of } sesiones.
} Después: { $action }, primero en { $corner }.
insight-metric = { $cause } en { $corner }
brief-slippery = A esta hora la pista no está seca: primero subir el ritmo poco a poco; lo que sigue vale para pista seca.
