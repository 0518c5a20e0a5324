where-lap = Vuelta completa
measured-speed_corner = velocidad
measured-speed_straight = velocidad punta
measured-speed_lap = velocidad punta
measured-time_corner = tiempo en la curva
measured-time_straight = tiempo
measured-time_lap = tiempo de vuelta
measured-throttle_corner = acelerador
measured-throttle_least = acelerador al mínimo
measured-throttle_straight = acelerador medio
measured-throttle_lap = acelerador medio
measured-brake_point = punto de frenada
measured-brake_pressure = presión de freno
measured-brake_release = freno suelto
measured-brake_rate = rapidez al soltar el freno
measured-brake_time = tiempo de frenada
measured-brakings = número de frenadas
measured-brake_g = deceleración al frenar
measured-throttle_point = vuelta al gas
measured-full_throttle = parte de gas a fondo
measured-full_point = de nuevo a fondo
measured-accel_g = aceleración
measured-lateral_g = aceleración lateral
measured-total_g = g combinados
measured-steering = ángulo de volante
measured-corrections = correcciones de volante
measured-coasting = rodar sin pedal
measured-rpm = régimen del motor
measured-mean_speed = velocidad media
measured-yaw_rate = velocidad de guiñada
at-none = {""}
at-entry = {" "}en la entrada
at-apex = {" "}en el vértice
at-exit = {" "}en la salida
at-entry_apex = {" "}de la entrada al vértice
at-apex_exit = {" "}del vértice a la salida
at-entry_exit = {" "}de la entrada a la salida
side-none = {""}
side-before-entry = {" "}antes de la curva
side-after-entry = {" "}después de la entrada
side-before-apex = {" "}antes del vértice
side-after-apex = {" "}después del vértice
end-high = el valor más alto
end-low = el valor más bajo
end-early = lo más temprano
end-late = lo más tarde
end-long = lo más largo
end-short = lo más corto
verdict-yes = Sí:{" "}
verdict-no = No:{" "}
verdict-right = Correcto:{" "}
verdict-wrong = No es así:{" "}
verdict-partly = No en todas las vueltas:{" "}
verdict-somewhere = No en todas partes:{" "}
measure-best = { $where }, { $what }{ $at }{ lap-who }: { $best }{ $side } en la mejor vuelta (vuelta { $lap }){ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $few ->
    [yes] {""}
   *[no] , { $usual } en la vuelta habitual
}.
measure-laps = { $where }, { $what }{ $at }{ lap-who }, { $count ->
    [one] vuelta { $laps }
   *[other] vueltas { $laps }
}: { $values }{ $side }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ beside-usual }.
measure-mean = { $where }, { $what }{ $at }{ lap-who }: { $mean }{ $side } de media en { laps-counted }; { $usual } en la vuelta habitual.
measure-total = { $where }, { $what }{ $at }{ lap-who }: { $total } en total en { laps-counted }, { $mean } por vuelta de media.
measure-peak = { $where }, { $what }{ $at }{ lap-who }: { $value }{ $side }, { nth }, vuelta { $lap }{ $placed ->
    [yes] , { $place }
   *[no] {""}
}{ $ends ->
    [yes] ; en el otro extremo { $last }, vuelta { $last_lap }
   *[no] {""}
}{ beside-usual }.
measure-limit = { $where }, { $what }{ $at }{ lap-who }: { $side ->
    [below] por debajo de { $limit }
   *[above] por encima de { $limit }
} en { $count } de { $all } vueltas{ $listed ->
    [yes] : { $count ->
        [one] vuelta { $named }
       *[other] vueltas { $named }
    }
   *[no] {""}
}.
measure-share = Es el { $share } de { $lap ->
    [0] las { $count } vueltas
   *[other] la vuelta { $lap }
}.
none-where = { $sort ->
    [lift] levantar el pie
   *[other] { $what }
}: { $hits ->
    [0] en cada una de las { $count } curvas
   *[other] en ninguna vuelta en { $hits } de { $count } curvas: { $corners }
}.
measure-none = { $where }, { $what }{ $at }{ lap-who }: ningún valor en { laps-all }.
measure-not-closed = { $where }: el gas no se cerró nunca, mínimo { $least }; por eso no hay punto de vuelta al gas.
measure-rival-none = { $where }, { $what }{ $at }: ningún valor de { $other }.
full-throttle-run = Tramo más largo a fondo{ lap-who }: { $seconds } en la vuelta { $lap }, { $length }, de { $begin } a { $end }.
nth = { $nth ->
    [1] { $end }
   *[other] puesto { $nth } (1: { $end })
}
measured-lost = tiempo perdido
measured-won = tiempo ganado
places-passing = { $count } de { $all } { places-all }{ $count ->
    [0] {""}
   *[other] : { $named }
}; { $what }{ $at }{ $compared ->
    [early] , más de { $limit } antes que { $name }
    [late] , más de { $limit } después que { $name }
    [high] , más de { $limit } por encima de { $name }
    [low] , más de { $limit } por debajo de { $name }
    [long] , más de { $limit } más que { $name }
    [short] , más de { $limit } menos que { $name }
   *[none] {" "}{ $side ->
        [below] por debajo de
       *[above] por encima de
    } { $limit }
}{ $loses ->
    [yes] {" "}{ loss-basis }
   *[no] {" "}(vuelta habitual)
}.
rank-listed = { $what }{ $at }{ lap-who }, { $every ->
    [yes] curva a curva
   *[no] { $end } de { $count } { places-all }
} ({ which-lap }): { $listed }{ $side }.
rank-lost = { $where } cuesta { $nth ->
    [1] { $end ->
        [least] menos que ninguno
       *[most] más que ninguno
    }: { $loss }
   *[other] { $loss } (puesto { $nth })
} { $lap ->
    [0] en la vuelta habitual
   *[other] en la vuelta { $lap }
} frente al mejor tiempo allí ({ $own }, mejor { $best }){ $count ->
    [0] {""}
   *[other] ; los demás: { $listed }
}.
rank-places = { $where }: { $what }{ $at }{ lap-who } { $value }{ $side }, { nth } de { $count } { places-all } ({ which-lap }){ $count ->
    [2] {""}
   *[other] {"; "}{ $nth ->
        [1] luego
       *[other] puesto 1:
    } { $second } ({ $second_value })
}; en el otro extremo { $last } ({ $last_value }).
rank-level = { $count } { places-all } iguales, { $what }{ $at }{ lap-who }: { $value }{ $side } ({ which-lap }).
compare = { $where }, { $what }{ $at }: { whose-first }{ $own }{ $side } { $own_of ->
    [usual] en la vuelta habitual
   *[lap] en la vuelta { $lap }
}; { $other ->
    [none] {""}
   *[other] { $other }{" "}
}{ $theirs } { $against ->
    [usual] en la vuelta habitual
    [best_pass] en el mejor paso (vuelta { $target_lap })
    [best_lap] en la mejor vuelta (vuelta { $target_lap })
    [plan] en el plan del circuito
   *[lap] en la vuelta { $target_lap }
}: { $ahead ->
    [none] {""}
   *[other] { $ahead }{" "}
}{ $compared ->
    [level] igual, { $difference } de diferencia
    [early] { $difference } antes
    [late] { $difference } más tarde
    [low] { $difference } menos
    [long] { $difference } más
    [short] { $difference } menos
   *[high] { $difference } más
}{ $both ->
    [yes] {"; normalmente "}{ $usual } y { $other_usual }
   *[no] {""}
}{ $lost ->
    [yes] {"; la curva cuesta"} { $loss } { loss-when }
    [no] {"; en la curva no se pierde tiempo"}
    [gained] {"; en la curva se ganan"} { $loss } { loss-when }
   *[unknown] {""}
}.
range = { $where }, { $what }{ $at }{ lap-who }: { whose-first }{ $usual }{ $side } en la vuelta habitual, de { $least } (vuelta { $other_lap }) a { $most } (vuelta { $lap }){ $asked ->
    [width] , una diferencia de { $width } en { $count } vueltas, desviación típica { $spread }
    [some] {"; algo en"} { $hits } de { $count } vueltas
   *[so] {"; así en"} { $hits } de { $count } vueltas
}.
judge-nowhere = No: { $what }{ $at } { $compared ->
    [early] antes
    [late] después
    [low] más bajo
    [long] más largo
    [short] más corto
   *[high] más alto
} { $other ->
    [none] que en el mejor paso, y con tiempo perdido, en ninguna de las { $count } curvas
   *[other] que { $other } en ninguna de las { $count } curvas
}.
spread-few = { $count ->
    [one] Solo una vuelta completa
   *[other] Solo { $count } vueltas completas
}: muy pocas para juzgar la regularidad.
spread-corners = { $whose ->
    [none] {""}
   *[other] { $whose }:{" "}
}{ $first ->
    [steady] La más regular{ spread-place }: { $steady }; la menos regular{ spread-place }: { $loose }
   *[loose] La menos regular{ spread-place }: { $loose }; la más regular{ spread-place }: { $steady }
} ({ $what }{ $at }{ lap-who }, desviación típica, { $count } vueltas).
spread-place = { $nth ->
    [1] {""}
   *[other] , puesto { $nth }
}
claim-flat = { $where }, { $lifted ->
    [none] a fondo en { $count ->
        [one] esa vuelta
       *[other] las { $count } vueltas
    }, acelerador nunca por debajo del { $least }
    [few] se levantó el pie en { $number ->
        [one] la vuelta { $laps }
       *[other] las vueltas { $laps }
    }, hasta el { $least }
    [all] se levantó el pie en las { $count } vueltas, hasta el { $least }
   *[many] se levantó el pie en { $number } de { $count } vueltas, hasta el { $least } (vuelta { $lap })
}.
laps-counted = { $count ->
    [one] una vuelta
   *[other] { $count } vueltas
}
beside-usual = { $few ->
    [yes] {""}
   *[no] {"; "}{ $usual } en la vuelta habitual
}
places-all = { $of ->
    [road] rectas
   *[corner] curvas
}
which-lap = { $lap ->
    [0] vuelta habitual
   *[other] vuelta { $lap }
}
whose-first = { $whose ->
    [none] {""}
   *[other] { $whose }{" "}
}
loss-when = { $own_of ->
    [lap] en esa vuelta
   *[other] por vuelta
}
