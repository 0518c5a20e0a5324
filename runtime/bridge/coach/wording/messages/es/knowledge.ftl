circuit = { $name }: { $length }, { $count } curvas, { $right } a derechas y { $left } a izquierdas{ $turning ->
    [clockwise] , en sentido horario
    [anticlockwise] , en sentido antihorario
   *[unknown] {""}
}.
circuit-longest = Recta más larga: { $name }, { $length }.
circuit-straight = { $name }: { $length }.
circuit-tightest = Curva más cerrada: { $corner }.
circuit-corner = { $corner }{ $nicks ->
    [0] {""}
   *[other] {" "}({ $nick })
}: { $severity }, a { $direction ->
    [left] izquierdas
   *[right] derechas
}, entrada { $entry }, vértice { $apex } y salida { $exit } después de la línea de salida.
circuit-sector = Sector { $number } ({ $name }): { $length }, { $count ->
    [0] ninguna curva
   *[other] { $corners }
}.
severity-1 = horquilla
severity-2 = curva lenta
severity-3 = curva media
severity-4 = curva bastante rápida
severity-5 = curva rápida
severity-6 = quiebro
danger-high = alto
danger-medium = medio
danger-low = bajo
danger = Peligro { $severity } en { THE($corner) }, de { $start } a { $end } después de la línea de salida: «{ $note }»
danger-none = No hay zona de peligro registrada { $count ->
    [0] para este circuito
   *[other] en { THE($corners) }
}; eso no significa que sea seguro.
danger-do = Guardar margen ahí: subir la velocidad a pasos pequeños y ver antes el sitio a pie o con un instructor.
surface-cool_damp = fría y húmeda
surface-rising_grip = con agarre en aumento
surface-optimal = en su mejor momento
surface-tire_degradation = en descenso, dura con los neumáticos
conditions-unmeasured = El tiempo, el viento, la temperatura de la pista y el agarre no se miden.
conditions = { $circuit } a las { $hour } h, según las notas del circuito: superficie { $surface }.
conditions-note = Nota registrada: «{ $note }»
wet = En mojado no vale ningún punto de frenada ni ninguna velocidad de una vuelta en seco.
wet-do = Frenar antes y más suave en línea recta, girar el volante una vez y despacio, gas tarde; evitar los pianos pintados e ir subiendo en las primeras vueltas.
recorded-instead = Registrado y útil en su lugar: { $quantities }.
channel-range = { $channel }: { $last } en la última lectura; de { $low } a { $high } en esta sesión.
channel-wheels = { $quantity } en la última lectura: delantera izquierda { $fl }, delantera derecha { $fr }, trasera izquierda { $rl }, trasera derecha { $rr }.
channel-assist = { $channel }: { $count ->
    [0] nunca intervino
    [one] intervino una vez
   *[other] intervino { $count } veces
}{ $placed ->
    [yes] , en { $corners }
   *[no] {""}
}.
channel-gears = Marchas usadas: de { $low } a { $high }.
channel-gear = { $count ->
    [one] Marcha en el punto más lento de { $corner }: { $gear }.
   *[other] Marcha en el punto más lento de { $corner }: { $gear } en la mayoría de { $count } pasadas.
}
not-recorded-this = Eso no se registra, así que no se sabe.
lesson = Lección del curso: «{ $title }».
lesson-none = Ninguna lección del curso trata eso.
glossary-unknown = Ese término no está en el glosario.

glossary-apex = Vértice: el punto donde el coche pasa más cerca del interior de la curva.
glossary-late_apex = Vértice tardío: tocar el interior más tarde, lo que abre la salida y permite dar gas antes.
glossary-double_apex = Doble vértice: una curva tan larga que el coche toca dos veces el interior.
glossary-apex_speed = Velocidad en el vértice: la velocidad en el interior de la curva, casi siempre la más baja.
glossary-exit_speed = Velocidad de salida: la velocidad al acabar la curva; se lleva por toda la recta siguiente.
glossary-racing_line = Trazada: el camino de mayor radio que permite la pista, de fuera a dentro y a fuera.
glossary-turn_in = Punto de giro: el lugar donde se empieza a girar hacia la curva.
glossary-look_ahead = Mirar lejos: los ojos en el siguiente lugar, el vértice antes de girar, la salida antes del vértice.
glossary-chicane = Chicane: dos curvas seguidas en sentidos opuestos; la salida de la segunda es la que más cuenta.
glossary-hairpin = Horquilla: una curva cerrada que da casi media vuelta.
glossary-kerb = Piano: el borde elevado de la pista; ensancha la trazada pero descarga un neumático un instante.
glossary-trail_brake = Frenada regresiva: soltar el freno poco a poco a medida que se gira, no de golpe, para que los neumáticos delanteros sigan cargados al entrar.
glossary-early_brake_release = Soltar pronto: el freno se suelta antes de girar y el tren delantero pierde carga justo al girar.
glossary-load_transfer = Transferencia de carga: frenar carga delante, acelerar detrás, girar el exterior; un neumático cargado agarra más.
glossary-threshold_braking = Frenada al límite: tan fuerte como aguantan los neumáticos, justo antes de bloquear.
glossary-lock_up = Bloqueo: una rueda frenada deja de girar y desliza; entonces dirige y frena mal.
glossary-abs = ABS: suelta el freno de una rueda por instantes antes de que bloquee, para que el coche siga girando.
glossary-brake_point = Punto de frenada: el lugar donde empieza la frenada de una curva, mejor con una referencia visible.
glossary-brake_end_focus = Final de la frenada: el lugar donde el freno queda suelto; mirar ahí da la velocidad de entrada correcta.
glossary-downhill_braking = Frenar cuesta abajo: la pendiente alarga la frenada y el punto de frenada se adelanta.
glossary-uphill_braking = Frenar cuesta arriba: la pendiente acorta la frenada y el punto de frenada puede retrasarse.
glossary-brake_fade = Fading: unos frenos demasiado calientes frenan menos con el mismo pedal, o el pedal se alarga; entrar y hacerlos revisar.
glossary-brake_bias = Reparto de frenada: la parte de la frenada que hacen las ruedas delanteras.
glossary-left_foot_braking = Frenar con el pie izquierdo: el pie derecho no tiene que cambiar de pedal.
glossary-heel_and_toe = Punta-tacón: el pie derecho frena y da un golpe de gas a la vez, para igualar el régimen a la marcha inferior.
glossary-rev_matching = Golpe de gas al reducir: el motor ya gira al régimen que pide la marcha inferior.
glossary-throttle_pick_up = Punto de gas: el lugar donde se vuelve a dar gas en la curva o después.
glossary-coasting = Rodar sin pedal: ningún pedal pisado; aquí freno bajo { $brake }, gas bajo { $throttle }, a más de { $speed }.
glossary-full_commitment = A fondo: en la recta el gas va abierto del todo, sin rodar antes del freno.
glossary-understeer = Subviraje: los neumáticos delanteros llegan antes al límite; el coche gira menos que el volante y se abre.
glossary-oversteer = Sobreviraje: los neumáticos traseros llegan antes al límite; la zaga se va.
glossary-lift_off_oversteer = Sobreviraje al levantar: levantar en la curva descarga los neumáticos traseros y la zaga se va.
glossary-counter_steering = Contravolante: girar el volante hacia el deslizamiento para recuperar la zaga.
glossary-yaw_rate = Velocidad de guiñada: lo rápido que gira el morro, en grados por segundo.
glossary-slip_angle = Ángulo de deriva: el ángulo entre hacia dónde apunta el neumático y hacia dónde va; el agarre crece unos grados con él y luego cae.
glossary-grip = Agarre: la fuerza que pasa el neumático antes de deslizar; frenar, girar y acelerar se la reparten.
glossary-friction_circle = Círculo de fricción: un solo agarre para frenar, girar y acelerar; lo que toma uno les falta a los otros.
glossary-g_force = g: aceleración en unidades de gravedad; 1 g lateral empuja con el propio peso.
glossary-downforce = Carga aerodinámica: aire que aprieta el coche contra la pista, más cuanto más rápido va.
glossary-camber = Caída: lo que se inclina una rueda; en la pista, su peralte.
glossary-slipstream = Rebufo: el aire más ligero detrás de un coche, menos resistencia en recta, menos carga en curva.
glossary-delta = Delta: lo que una vuelta va por detrás de otra en el mismo lugar.
glossary-ideal_lap = Vuelta ideal: los mejores sectores juntos; una guía, no una promesa.
glossary-sector = Sector: una parte de la vuelta con tiempo propio.
glossary-reference_lap = Vuelta de referencia: la vuelta con la que se miden las demás.
glossary-out_lap = Vuelta de salida: la que empieza en boxes; su tiempo no se compara.
glossary-in_lap = Vuelta de entrada: la que acaba en boxes; su tiempo no se compara.
glossary-stint = Stint: las vueltas desde que se sale de boxes hasta que se vuelve.
glossary-track_limits = Límites de pista: los bordes de la pista; una vuelta con todas las ruedas fuera casi nunca cuenta.
