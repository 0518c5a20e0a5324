# Qué hacer después: técnica, objetivos, ejercicios, plan de tanda, supuestos, frases de radio.

technique = { $corner }, técnica en general: { $spot ->
    [entry] frenar fuerte y en línea recta, luego soltar el freno a medida que gira el volante
    [apex] entrar despacio, mirar a la salida antes del vértice, un solo movimiento tranquilo de volante
   *[exit] girar más tarde para un vértice tardío, esperar con el gas hasta que se abra el volante y luego acelerar con suavidad
}.{ advice-danger }
tips-repeat = Después: repetir la mejor vuelta { $count } veces seguidas y volver a comparar.
tips-more = Después: { $count } vueltas seguidas, lo más iguales posible, para tener con qué comparar.
target = { $corner }: conseguido cuando { $count } vueltas seguidas muestran { $cause ->
    [early_brake] un punto de frenada a { $aim } antes de la curva en vez de { $now }
    [late_brake] un punto de frenada a { $aim } antes de la curva en vez de { $now }
    [long_brake] { $aim } de presión máxima en vez de { $now }
    [coasting] { $aim } sin pedal como mucho, en vez de { $now }
    [slow_apex] al menos { $aim } en el punto más lento en vez de { $now }
    [slow_entry] al menos { $aim } en la entrada en vez de { $now }
    [early_slowing] al menos { $aim } en la entrada en vez de { $now }
    [late_throttle] al menos { $aim } en la salida en vez de { $now }
    [part_throttle] el gas a fondo { $aim } después del vértice en vez de { $now }
    [slow_exit] al menos { $aim } en la salida en vez de { $now }
    [match] el tiempo del paso más rápido
   *[none] el mismo punto de frenada y la misma velocidad
}.
drill = Ejercicio, { $corner }, { $count } vueltas: { $cause ->
    [early_brake] desde { $now }, mover el punto de frenada { $step } como mucho por vuelta hacia { $aim }; un paso atrás si no se alcanza el vértice
    [late_brake] empezar a frenar a { $aim } y dejar que el coche se asiente antes de girar
    [long_brake] apretar más al principio y soltar antes, un poco más cada vuelta
    [coasting] decir «fuera» al soltar el freno y «gas» al acelerar; acercar las dos palabras cada vuelta
    [slow_apex] llevar un poco más de velocidad al vértice cada vuelta; un paso atrás si el coche se abre
    [slow_entry] pensar solo en la salida de la curva anterior y dejar el resto
    [early_slowing] elegir una referencia junto a la pista y mantener la velocidad hasta ella; cada vuelta un poco más tarde
    [late_throttle] primero enderezar el volante, luego el gas; cada vuelta un poco antes, y atrás si hay que volver a cerrar el volante
    [part_throttle] decir «gas» al acelerar y «fondo» al llegar a fondo; acercar las dos palabras cada vuelta, y atrás si hay que volver a cerrar el volante
    [slow_exit] girar un poco más tarde cada vuelta y tocar el vértice más tarde
    [match] repetir el paso más rápido, con su punto de frenada y su velocidad
   *[none] mismo punto de frenada, misma velocidad, cada vuelta
}.{ advice-danger }
plan-laps = Plan para { $count } vueltas: { $warm } para calentar, { $focus } de trabajo{ plan-focus }, { $cool } para enfriar antes de entrar a boxes.
plan-run = { $minutes } son unas { $count } vueltas a { $usual }: { $warm } para calentar, { $focus } de trabajo{ plan-focus }, { $cool } para enfriar antes de entrar a boxes.
plan-short = Tiempo para { laps-counted } como mucho: calentar, rodar tranquilo, entrar; no cabe ninguna vuelta de trabajo.
plan-focus = { $both ->
    [0] { "" }
    [1] { "" } ({ $corner })
   *[other] { "" } (primera mitad, { $corner }; segunda mitad, { $next })
}
traffic = Con tráfico: levantar hasta tener hueco, dejar espacio, dejar pasar a los más rápidos; esas vueltas no cuentan y no se persigue ningún tiempo.
traffic-focus = El plan sigue: trabajar { THE($corner) } solo con la pista libre.
what-if = { $corner }: { $amount } más darían unos { $gain } en la curva, una estimación de la vuelta { $lap }, no una promesa.
what-if-lap = Todas las vueltas como la { $lap } habrían { $side ->
    [lost] costado
   *[saved] ahorrado
} { $saved } en { $count } vueltas, { $each } por vuelta.
over-laps = En { $count } vueltas: { $total }, { $count } veces { $each }; una estimación.
what-if-mended = { $corners }: hasta { $total } por vuelta, lo que se pierde ahí { loss-basis }; una estimación, no una promesa; la vuelta sería entonces de unos { $after }.
what-if-brake = { $corner }: frenar { $amount } más tarde daría unos { $gain }, una estimación de la vuelta { $lap }, si la curva sigue saliendo.
what-if-grip = Harían falta unos { $need } laterales; el máximo en una curva hasta ahora es { $most }, así que { $room ->
    [yes] parece que hay margen
   *[no] esta sesión aún no ha mostrado margen para ello
}.
what-if-build = Acercarse en pasos pequeños; un paso atrás en cuanto el coche deslice o se abra.{ advice-danger }
voice-line = { $corner }: { $action }{ $cause ->
    [early_brake] , a { $aim }
    [late_brake] , a { $aim }
   *[other] {""}
}.
brief-circuit = Sin sesión de este piloto: { $circuit }, el circuito activo.
