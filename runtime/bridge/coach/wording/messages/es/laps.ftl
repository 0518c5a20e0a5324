# Partes de otros mensajes: de quién es la sesión, frente a qué, y por qué.

lap-who = { $driver ->
    [own] { "" }
   *[other] { " " }({ $driver })
}
loss-than = { $than ->
    [usual] a la vuelta habitual
    [best_lap] a la mejor vuelta
   *[lap] a la vuelta { $other }
}
loss-why = { $caused ->
    [yes] ; causa: { $cause } ({ $amount })
   *[no] { "" }
}
laps-which = { $which ->
    [all] { laps-all }
    [without] { laps-number }, sin { $out ->
        [one] la vuelta { $named }
       *[other] las vueltas { $named }
    }
   *[some] { $count ->
        [one] la vuelta { $named }
       *[other] las vueltas { $named }
    }
}

# Qué vueltas hay, y sus tiempos

lap-best = Mejor vuelta{ lap-who }: { $time }, vuelta { $lap }{ $count ->
    [one] { "" }
   *[other] { $some ->
        [all] , de { $count } que cuentan
       *[some] , de las { $count } pedidas
    }
}.
lap-lead = Son { $gap } de ventaja sobre la segunda, la vuelta { $other }.
lap-level = La vuelta { $other } tardó lo mismo.
lap-time = { $which ->
    [last] Última vuelta completa{ lap-who }: vuelta { $lap }, { $time }
    [slowest] Vuelta más lenta{ lap-who }: vuelta { $lap }, { $time }
    [first] Primera vuelta completa{ lap-who }: vuelta { $lap }, { $time }
   *[named] Vuelta { $lap }{ lap-who }: { $time }
}; { $rank ->
    [1] la mejor de { $count }
   *[other] a { $gap } de la mejor, la vuelta { $best }; puesto { $rank } de { $count }
}.
lap-count = { $count ->
    [one] Cuenta 1 vuelta{ lap-who }: está completa, no es de salida ni de entrada a boxes.
   *[other] Cuentan { $count } vueltas{ lap-who }, de la 1 a la { $last }: todas completas, ninguna de salida ni de entrada a boxes.
}
lap-count-rest = No cuentan: { $km } { $which ->
    [both] antes de la primera y después de la última vuelta (salida y entrada a boxes)
    [out] antes de la primera vuelta (salida de boxes)
    [in] después de la última vuelta (entrada a boxes)
   *[other] que no son una vuelta completa
}.
lap-count-of = { $other }: { laps-number }.

# Media, dispersión, suerte, evolución

lap-average = Media{ lap-who }: { $mean }, de { laps-which }; mediana { $median }.
lap-off-average = Vuelta { $lap }{ lap-who }, { $time }: { $gap } más { $side ->
    [faster] rápida
   *[slower] lenta
} que la media.
session-time = { $dated ->
    [yes] La grabación{ lap-who } empezó el { $start } y
   *[no] La grabación{ lap-who } no tiene fecha;
} duró { $minutes }: { $count ->
    [one] 1 vuelta completa
   *[other] { $count } vueltas completas
}, { $km }.
lap-only = Solo cuenta una vuelta{ lap-who }, { $time }: aún no hay con qué compararla.
spread-steady = constantes
spread-fair = bastante constantes
spread-uneven = irregulares
lap-spread = Tiempos por vuelta{ lap-who } { $judged }: ±{ $spread } (desviación típica) en { laps-which }; de { $low } a { $high }, { $width } de diferencia.
lap-spread-odd = Sin la vuelta { $lap } serían ±{ $spread }.
lap-usual = La más cercana a la vuelta habitual ({ $usual }): vuelta { $lap }, { $time }.
lap-luck = La vuelta { $lap } ({ $time }) está { $next_gap } por delante de la segunda, la vuelta { $next }, y { $usual_gap } por delante de la vuelta habitual.
lap-luck-corner = Donde más se ganó: { $corner }, { $seconds } frente a la vuelta habitual.
lap-luck-ideal = { $whole ->
    [yes] Por sectores esa vuelta vale tanto como la ideal: una vuelta entera, pero sin repetir
   *[no] { $kept ->
        [0] Ninguno de los tres mejores sectores es
        [one] Uno de los tres mejores sectores es
       *[other] { $kept } de los tres mejores sectores son
    } de esa vuelta; la vuelta ideal es { $gap } más rápida
}; la suerte en sí no se puede medir.
trend-few = { $count ->
    [one] 1 vuelta no muestra
   *[other] { $count } vueltas no muestran
} todavía ninguna evolución.
trend-laps = { $way ->
    [slower] Los tiempos suben { $slope } por vuelta
    [faster] Los tiempos bajan { $slope } por vuelta
    [late-slower] Más lento hacia el final
    [late-faster] Más rápido hacia el final
    [row-slower] Las { $row } últimas vueltas cada una más lenta, { $change } en total,
    [row-faster] Las { $row } últimas vueltas cada una más rápida, { $change } en total,
   *[none] Sin evolución clara de los tiempos
} en { $count } vueltas: las { $few } primeras en torno a { $early }, las { $few } últimas en torno a { $late }; la mejor, la vuelta { $best }.
trend-quantity = { $where }, { $what }: { $early } en las { $number } primeras vueltas, { $late } en las { $number } últimas (medianas).
trend-parted = Piloto y pista no se pueden separar aquí: los tiempos por sí solos no muestran a qué se debe la ganancia{ $noted ->
    [yes] , y las notas de la meteo no miden el agarre
   *[no] , y ni la meteo ni el agarre de la pista están registrados
}.

# Dos vueltas lado a lado, y por qué una fue lenta

lap-compare = { $level ->
    [yes] Las vueltas { $lap } y { $other } tardaron lo mismo: { $time }
   *[no] La vuelta { $lap } ({ $time }) es { $gap } más rápida que la vuelta { $other } ({ $other_time })
}.
lap-alike = { $to ->
    [pair] Las vueltas { $lap } ({ $time }) y { $other } ({ $other_time }) son las más cercanas en tiempo
   *[named] La más cercana en tiempo a la vuelta { $lap } ({ $time }) es la { $other } ({ $other_time })
}: a { $gap }.
lap-loses = Vuelta { $lap }, donde más pierde: { $corner }, { $seconds } respecto a la vuelta { $other }{ loss-why }.
lap-loses-here = Vuelta { $lap }, { $corner }: { $seconds } perdidos respecto a la vuelta { $other }{ loss-why }.
lap-explain = { $how ->
    [slow] Vuelta { $lap }{ lap-who }: { $time }, { $over } más lenta que la vuelta habitual ({ $usual }) y a { $behind } de la mejor
    [quick] La vuelta { $lap }{ lap-who } fue rápida: { $time }, { $over } mejor que la vuelta habitual ({ $usual }){ $rank ->
        [best] { " " }y la mejor
       *[inner] { "" }
    }
   *[usual] La vuelta { $lap }{ lap-who } no fue lenta: { $time } frente a { $usual } de la vuelta habitual; a { $behind } de la mejor
}{ $edge ->
    [first] ; está completa, no es la de salida de boxes
    [last] ; está completa, no es la de entrada a boxes
   *[inner] { "" }
}.
lap-lost = { THE($corner) } costó { $seconds } frente { loss-than }{ loss-why }.
lap-gained = En { THE($corner) } se ganaron { $seconds } frente { loss-than }.
video-lap = Para enseñar: la vuelta { $lap }, { $time }{ $best ->
    [yes] , la mejor
   *[no] , la mejor sin incidente
}. El vídeo en sí no está registrado aquí.

# Sectores

sector-unknown = Ningún sector tiene tiempo aquí: la grabación se interrumpió en todos.
sector-one-lap = Con una vuelta aún no hay sector más flojo; los tiempos:
sector-corner = En ese sector, { $corner }: { $seconds } más que en la vuelta { $lap }{ loss-why }.
sector-no-corner = Ninguna curva del sector { $sector } cuesta por sí sola { $least } o más.

# La vuelta ideal, y lo que es posible

ideal-unknown = No hay vuelta ideal: la grabación se interrumpió en un sector en todas las vueltas.
ideal-lap = Vuelta ideal con los mejores sectores{ lap-who }: { $time }, { $same ->
    [yes] igual que la mejor vuelta, la { $best }
   *[no] { $gain } más rápida que la mejor vuelta ({ $best_time }, vuelta { $best })
}.
ideal-sectors = Mejores sectores: { $s1 } (vuelta { $lap1 }), { $s2 } (vuelta { $lap2 }), { $s3 } (vuelta { $lap3 }); retraso de la mejor vuelta: { $gap1 }, { $gap2 }, { $gap3 }.
ideal-shared = Los mejores sectores de los dos pilotos juntos: { $time }, { $same ->
    [yes] no más rápido que la mejor vuelta de los dos
   *[no] { $gain } más rápido que la mejor vuelta de los dos
}.
ideal-honest = { $count ->
    [one] Por sectores la vuelta ideal, { $time }, es la propia vuelta { $named }, así que ya se ha dado
   *[other] La vuelta ideal, { $time }, está compuesta con las vueltas { $named }: cada parte se ha hecho, el conjunto nunca
}.
ideal-usual = Primero lo realista: llevar la vuelta habitual ({ $usual }) al nivel de la mejor ({ $best }, vuelta { $lap }): son { $gain }.
theory-reference = Vuelta de referencia del archivo: { $time }; la mejor vuelta es { $gap } { $side ->
    [behind] más lenta
   *[ahead] más rápida
}.
theory-speeds = Con las velocidades de curva del archivo del circuito, la mejor vuelta tardaría unos { $time }: { $gap } { $side ->
    [behind] menos
   *[ahead] más
}, de { $count } curvas, rectas tal como se hicieron.
theory-corner = La mayor diferencia: { $corner }, { $lost }; { $own } en el vértice, frente a { $file } en el plan.
theory-limits = Ese plan es un modelo de trazada y agarre, no de este coche, sus neumáticos ni el día: una guía, no una promesa.
theory-none = El archivo del circuito no tiene velocidades objetivo y no hay vuelta de referencia: no hay plan teórico.
goal-named = { $target }: { $reach ->
    [done] ya está hecho, la mejor vuelta, { $best }, es { $gap } más rápida
    [parts] a { $gap }, y las mejores partes de las vueltas dadas bastan
   *[more] a { $gap } de la mejor vuelta ({ $best }), más de lo que dan las mejores partes de las vueltas dadas
}.
goal-lap = Próximo objetivo: { $goal }; mejor hasta ahora { $best }, vuelta { $lap }.
goal-corner = Donde más hay que ganar: { $corner }, { $seconds } de la vuelta habitual a la mejor{ loss-why }.
laps-all = { $count ->
    [one] la única vuelta
   *[other] las { $count } vueltas
}
laps-number = { $count ->
    [one] 1 vuelta
   *[other] { $count } vueltas
}
