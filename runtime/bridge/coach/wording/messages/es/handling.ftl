incident-spin = trompo
incident-off_line = fuera de la trazada
incident-stopped = parada en pista
incident-over_g = g muy por encima de una vuelta habitual
incident-hard_deceleration = fuerte deceleración sin freno
incident-abs_active = ABS en acción
incident-tc_active = control de tracción en acción
trail-summary = Frenada regresiva en { $into } de { $count } curvas con frenada: el freno sigue pisado en la entrada; hasta el vértice en { $apex } de ellas (vueltas habituales).
trail-corner = { $driver }, { $where }: pico { $peak }, { $entry } en la entrada, { $apex } en el vértice{ $released ->
    [yes] ; freno suelto { $place }{ $side } a { $rate }
   *[no] ; freno sin soltar antes de la salida
}{ $steered ->
    [yes] , { $overlap } a la vez que el volante
   *[no] {""}
}: { $shape ->
    [trail] frenada regresiva dentro de la curva
   *[straight] suelto antes de girar
}.
grip-caveat = El máximo de hoy es { $envelope }{ $computed ->
    [yes] , calculado con velocidad y posición
   *[no] {""}
}: lo que el coche alcanzó, no su límite; una reserva es un indicio, no una promesa.
balance = { $where }: { $sign ->
    [under] más volante sin más g laterales, lo que puede ser subviraje
    [over] contravolante, lo que puede ser sobreviraje
    [none] volante y g laterales no muestran ni subviraje ni sobreviraje
   *[unknown] el ángulo de volante no se ha registrado, así que el equilibrio no se ve
}; con estos canales no se puede separar al piloto del coche.
balance-pass = { $which ->
    [usual] Vuelta habitual
    [lap] Vuelta { $lap }
   *[other] { $driver }, vuelta habitual
}, { $where }: { $speed } en el punto más lento{ $steered ->
    [yes] , volante hasta { $steering }, { $countered ->
        [yes] contravolante { $opposite }
       *[no] sin contravolante
    }
   *[no] {""}
}{ $turned ->
    [yes] , { $lateral } laterales
   *[no] {""}
}{ $gas ->
    [yes] , acelerador hasta el { $throttle }, gas de nuevo a { $pick_up }{ $side }
    [down] , acelerador hasta el { $throttle }
    [held] , acelerador nunca por debajo del { $throttle }
   *[no] {""}
}.
incidents-count = { $count } incidentes en esta sesión; los tres primeros:
incidents-none = Ningún incidente detectado en { laps-counted }; se busca: { $kinds }.
incident = { $lap ->
    [0] Fuera de las vueltas que cuentan
   *[other] Vuelta { $lap }
}{ $placed ->
    [yes] , { $where }
   *[no] {""}
}: { $kind }{ $moving ->
    [yes] {" "}a { $speed }
   *[no] {""}
}.
incident-odd = Momento más lento: vuelta { $lap }, { $where }, { $loss } más que la vuelta habitual.
incident-cause = { $cause ->
    [over] Contravolante en la vuelta { $lap }, { $where }: es probable un deslizamiento
    [under] Más volante sin más g laterales en la vuelta { $lap }, { $where }: el tren delantero pudo deslizar
    [lift] Menos g laterales y sin contravolante en la vuelta { $lap }, { $where }: parece que se levantó el pie, no que deslizara
    [none] Sin contravolante en la vuelta { $lap }, { $where }: ninguna señal de deslizamiento
   *[unknown] El ángulo de volante no se ha registrado, así que la vuelta { $lap } no muestra si hubo deslizamiento ({ $where })
}. Un deslizamiento aquí solo se puede deducir, nunca medir.
resolution-rate = El registrador escribe { $rate } valores por segundo: uno cada { $step } a { $speed }{ $fixes ->
    [fine] ; ruido del GPS de punto a punto inferior a { $noise }, una deriva lenta no se ve
    [noisy] ; ruido del GPS de punto a punto de unos { $noise }, una deriva lenta no se ve
   *[none] ; sin GPS utilizable, los lugares salen de la distancia
}.
resolution-scatter = El punto de frenada de { THE($where) } varía { $scatter } de vuelta a vuelta (desviación típica, { $count } vueltas).
resolution-told = { $asked } en el punto de frenada: { $told ->
    [yes] se distingue, incluso de una vuelta a otra
    [mean] solo se distingue en la media de varias vueltas, no de una vuelta a otra
   *[no] aquí no se distingue, queda dentro del muestreo y la dispersión
}.
