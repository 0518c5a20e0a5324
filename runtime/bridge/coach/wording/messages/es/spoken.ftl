# Números para una voz; $count elige el plural, $number se dice.

spoken-s = { $count ->
    [one] un segundo
   *[other] { $number } segundos
}
spoken-m = { $count ->
    [one] un metro
   *[other] { $number } metros
}
spoken-km = { $count ->
    [one] un kilómetro
   *[other] { $number } kilómetros
}
spoken-kmh = { $number } kilómetros por hora
spoken-bar = { $count ->
    [one] un bar
   *[other] { $number } bares
}
spoken-bar-s = { $number } bares por segundo
spoken-g = { $number } g
spoken-percent = { $number } por ciento
spoken-deg = { degrees }
spoken-deg-s = { $number } grados por segundo
spoken-rpm = { $number } revoluciones por minuto
spoken-min = { $count ->
    [one] un minuto
   *[other] { $number } minutos
}
spoken-ft = { $count ->
    [one] un pie
   *[other] { $number } pies
}
spoken-mi = { $count ->
    [one] una milla
   *[other] { $number } millas
}
spoken-mph = { $number } millas por hora
spoken-psi = { $number } psi
spoken-psi-s = { $number } psi por segundo
spoken-celsius = { degrees }
spoken-fahrenheit = { $number } grados Fahrenheit
spoken-l = { $count ->
    [one] un litro
   *[other] { $number } litros
}
spoken-gal = { $count ->
    [one] un galón
   *[other] { $number } galones
}
spoken-volt = { $count ->
    [one] un voltio
   *[other] { $number } voltios
}
spoken-per-min = { $number } por minuto
spoken-number = { $number }
spoken-plus-minus = más o menos
spoken-lap-time = { $minutes ->
    [0] { $seconds } segundos
   *[other] { $minutes } { $minutes ->
        [one] minuto
       *[other] minutos
    } { $seconds }
}
degrees = { $count ->
    [one] un grado
   *[other] { $number } grados
}
