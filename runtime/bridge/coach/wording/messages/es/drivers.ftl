rival-gap = { $which ->
    [best] Mejores vueltas
   *[named] Vuelta { $lap } frente a la vuelta { $other_lap } de { $other }
}: { rival-side }.
laps-beaten = { $whose }: { $count } de { $all } vueltas más rápidas que { $lap ->
    [0] la media de { $of }
   *[other] la vuelta { $lap } de { $of }
}, { $time }{ $count ->
    [0] {""}
    [one] : vuelta { $named }
   *[other] : vueltas { $named }
}.
rival-mean = Medias: { rival-side }.
rival-usual = Vueltas habituales: { rival-side }.
rival-corner = { $corner }{ $on ->
    [usual] , pasos habituales
    [laps] , mejores vueltas
   *[named] , vuelta { $lap } frente a vuelta { $other_lap }
}: { $seconds } { $side ->
    [behind] perdidos con { $other }{ loss-why }
    [ahead] ganados a { $other }
   *[level] de diferencia, a la par de { $other }
}.
rival-sector = Sector { $sector }: { $side ->
    [behind] { $gap } más que { $other }
    [ahead] { $gap } menos que { $other }
   *[level] a la par de { $other }, { $gap } de diferencia
}, { $own } frente a { $theirs }.
rival-sectors = Por sectores frente a { $other } (más es más lento): sector 1 { $s1 }, sector 2 { $s2 }, sector 3 { $s3 }.
rival-split = Frente a { $other }: { $entry } hasta los vértices (frenando), { $apex } en ellos, { $exit } en las salidas; { $most ->
    [entry] donde más se pierde es en la frenada
    [apex] donde más se pierde es en el vértice
    [exit] donde más se pierde es en las salidas
   *[none] no se pierde nada
}.
rival-alike = { $corner }: según lo registrado, punto de frenada, velocidad mínima, tiempo sin pedal y velocidad de salida son iguales.
rival-car = { $same ->
    [yes] Mismo coche: ambos llevaban { $own_car }, así que no hay nada que atribuir al modelo
    [no] No es el mismo coche según los datos: { $own_car }, { $other } { $other_car }; no se puede saber cuánto de la diferencia se debe al coche
   *[unknown] No está registrado el coche de ambos; no se puede saber cuánto de la diferencia se debe al coche
}.
rival-day = Las condiciones de las dos tandas pueden haber sido distintas; no se midieron.
rival-laps = { $other }: { $count ->
    [one] cuenta 1 vuelta
   *[other] cuentan { $count } vueltas
}, no { $said }.
rival-spread = { $side ->
    [other] { $other } es más constante
    [own] { $other } es menos constante
   *[level] Tan constante como { $other }
}: ±{ $other_spread } en { $other_count } vueltas, frente a ±{ $spread } en { $count }.
rival-one-lap = { $other } tiene { $other_count ->
    [one] 1 vuelta
   *[other] { $other_count } vueltas
} que cuentan, esta sesión { $count }: demasiado pocas para decir quién es más constante.
rival-few = Tan pocas vueltas dicen poco sobre quién es más constante.
progress-here = Aquí hasta ahora: { laps-number }, la mejor en { $best }.
progress-last = Frente a la sesión anterior ({ $date }): mejor vuelta { gap-side }, { $now } frente a { $then }; vuelta habitual { $usual_side ->
    [ahead] { $usual_gap } más rápida
    [behind] { $usual_gap } más lenta
   *[level] igual
}.
progress-series = En { $count } sesiones desde el { $date } la mejor vuelta pasó de { $then } a { $now }: { gap-side }.
progress-spread = Dispersión de los tiempos por vuelta: ±{ $now } esta vez, ±{ $then } la anterior.
progress-plateau = Las mejores vueltas de las tres últimas sesiones caben en { $within }: un estancamiento.
progress-corner = Lo que más mejoró: { $corner }, { $speed } más en el vértice desde la primera sesión.
progress-limits = La meteo, los neumáticos y la pista de esos días no se midieron, así que la cifra no es solo mérito del piloto.
stuck-corner = { $corner }: sin mejora en esta sesión, { $late } más que el mejor paso en la segunda mitad, { $early } en la primera.
improved-corner = { $corner }: { $gain } de mejora en esta sesión, { $early } más que el mejor paso en la primera mitad, { $late } en la segunda.
improved-none = { $count ->
    [one] Una vuelta no muestra
   *[other] { $count } vueltas no muestran
} ninguna curva claramente mejor en la segunda mitad que en la primera.
rival-side = { $side ->
    [behind] { $other } va { $gap } más rápido, { $other_time } frente a { $time }
    [ahead] { $other } va { $gap } más lento, { $other_time } frente a { $time }
   *[level] a la par de { $other }, { $time }
}
gap-side = { $side ->
    [ahead] { $gap } más rápida
    [behind] { $gap } más lenta
   *[level] igual
}
