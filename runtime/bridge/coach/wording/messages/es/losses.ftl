# Dónde se pierde tiempo y por qué, qué estuvo bien y qué hacer.

loss-basis = { $basis ->
    [usual] en la vuelta { $lap } respecto a la habitual
    [driver] { $lap ->
        [0] en la vuelta habitual respecto a la habitual de { $other }
       *[other] en la vuelta { $lap } respecto a la mejor de { $other }
    }
    [best_pass] en la vuelta { $lap } respecto a los mejores pasos
   *[best_lap] { $lap ->
        [0] en la vuelta habitual respecto a la mejor
       *[other] en la vuelta { $lap } respecto a la mejor
    }
}
loss-one-lap = Una sola vuelta completa y nadie con quien comparar: dónde se pierde tiempo se ve desde la segunda vuelta.
loss-none = { loss-sector }Ninguna curva cuesta un tiempo medible { loss-basis }.
loss-unmeasured = { THE($corner) } no está grabada entera en las dos vueltas, así que no se sabe lo que cuesta.
loss-sector = { $sector ->
    [0] {""}
   *[other] Sector { $sector }:{" "}
}
group-left = curvas a izquierdas
group-right = curvas a derechas
group-slow = curvas lentas
group-fast = curvas rápidas
loss-groups = Lo que más cuesta, { $first }: { $first_lost } ({ $first_corners }); { $second }: { $second_lost } ({ $second_corners }), { loss-basis }.
loss-total = { $gain } por vuelta en total: { $usual } en la vuelta habitual, { $best } en la mejor (vuelta { $lap }).
loss-most = { $sector ->
    [0] Donde más se pierde: { $corner }
   *[other] Donde más se pierde en el sector { $sector }: { $corner }
}, { $loss } { loss-basis }.
loss-spot = Lo que más cuesta en { $spot }: { THE($corner) }, { $part } { loss-basis }.
loss-next = { $count ->
    [1] Después: { $corner }, { $loss }.
   *[other] Después: { $corner }, { $loss }, y luego { $next }, { $after }.
}
loss-corner = { $corner }: se pierden { $loss } { loss-basis }.
loss-with-straight = Con la recta siguiente, { THE($corner) } cuesta { $loss } { loss-basis }.
loss-even = { $corner }: no se pierde tiempo medible { loss-basis }.
loss-gain = { $corner }: se ganan { $loss } { loss-basis }.
loss-cause = Causa: { loss-by }{ $more ->
    [0] {""}
   *[other] ; además { $also }
}.
loss-by = { $cause ->
    [early_brake] frenar { $amount } antes
    [early_slowing] perder velocidad { $amount } antes
    [late_brake] frenar { $amount } más tarde y entrar demasiado rápido
    [long_brake] { $amount } menos de presión máxima, y por eso una frenada más larga
    [coasting] { $amount } más sin pisar ningún pedal
    [slow_apex] { $amount } menos en el punto más lento
    [slow_entry] { $amount } menos en la aproximación
    [late_throttle] acelerar { $amount } más tarde
    [part_throttle] { $amount } más tarde a fondo
    [slow_exit] { $amount } menos en la salida
   *[none] ninguna destaca por sí sola
}
loss-parts = { $corner } por partes: entrada { $entry }, vértice { $apex }, salida y recta siguiente { $exit }.
pass-brake = { $corner }, punto de frenada: { $own } antes de la curva, { loss-beside } { $best }.
pass-speed = { $corner }: punto más lento { $low }, salida { $leave }; { loss-beside } { $best_low } y { $best_leave }.
loss-beside = { $basis ->
    [usual] vuelta habitual
    [driver] { $other }
    [best_pass] mejor paso
   *[best_lap] mejor vuelta
}
choice = { $where ->
    [0] Vuelta entera
   *[other] { $corner }
}: entrada { $entry }, salida { $exit } { loss-basis }. { $side ->
    [entry] En la frenada hay más que ganar: eso primero, la salida después
    [exit] En la salida hay más que ganar: eso primero, la frenada se queda como está
   *[neither] Ni la frenada ni la salida cuestan tiempo ahí
}.
summary-laps = { $count ->
    [one] Cuenta una vuelta: { $best }, vuelta { $best_lap }
   *[other] Cuentan { $count } vueltas: la mejor { $best } (vuelta { $best_lap }), la habitual { $usual }, dispersión { $spread }
}.
strong-quicker = { THE($corner) } es un punto fuerte: se ganan { $loss } a { $other }, mejor vuelta contra mejor vuelta.
strong-steady = Curva más constante: { $corner }, los { $count } pasos caben en { $spread }.
strong-gained = La mejor vuelta es { $gained } más rápida que la vuelta { $start }: la vuelta { $best_lap } muestra lo que es posible.
strong-none = Aún no se puede demostrar un punto fuerte: hacen falta tres vueltas completas u otro piloto.

action-brake_later = frenar más tarde
action-hold_speed = mantener la velocidad un poco más
action-brake_harder = frenar más corto, con más presión al principio
action-brake_earlier = frenar un poco antes y dejar que el coche se asiente
action-stay_on_pedal = pasar del freno al gas sin pausa
action-more_apex = llevar más velocidad al vértice
action-exit_before = mejorar primero la salida de la curva anterior
action-earlier_throttle = enderezar el volante y dar gas antes
action-full_sooner = abrir el gas hasta el fondo de una vez, a medida que se endereza el volante
action-open_exit = girar más tarde y abrir la salida
action-keep = mantener el punto de frenada y la velocidad habituales, y repetirlos
action-match = repetir el paso más rápido
action-repeat = repetirlo tal cual
advice = { $corner }: { $action }{ $cause ->
    [early_brake] , { $step } como mucho cada vez, de { $now } a { $aim } antes de la curva
    [late_brake] : { $aim } antes de la curva en vez de { $now }
    [long_brake] : { $aim } de máxima en vez de { $now }
    [coasting] : { $aim } sin pedal en vez de { $now }
    [slow_apex] , en pasos pequeños: { $aim } en el punto más lento en vez de { $now }
    [slow_entry] : { $aim } en la entrada en vez de { $now }
    [early_slowing] , en pasos pequeños: { $aim } en la entrada en vez de { $now }
    [late_throttle] : { $aim } en la salida en vez de { $now }
    [part_throttle] : a fondo { $aim } después del vértice en vez de { $now }
    [slow_exit] : { $aim } en la salida en vez de { $now }
   *[none] {""}
}.{ $cause ->
    [none] {""}
    [steady] {""}
   *[other] {" "}Ya conseguido { $basis ->
        [driver] por { $other }
       *[other] en la vuelta { $reached }
    }, vale hasta { $loss } por vuelta.
}{ advice-danger }
advice-danger = { $danger ->
    [yes] {" "}Hay una zona de peligro registrada: dejar margen.
   *[no] {""}
}
