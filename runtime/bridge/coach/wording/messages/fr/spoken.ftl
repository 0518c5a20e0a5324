# Nombres pour une voix ; $count choisit le pluriel, $number est dit.

spoken-s = { $count ->
    [one] { $number } seconde
   *[other] { $number } secondes
}
spoken-m = { $count ->
    [one] { $number } mètre
   *[other] { $number } mètres
}
spoken-km = { $count ->
    [one] { $number } kilomètre
   *[other] { $number } kilomètres
}
spoken-kmh = { $number } kilomètres-heure
spoken-bar = { $count ->
    [one] { $number } bar
   *[other] { $number } bars
}
spoken-bar-s = { $number } bars par seconde
spoken-g = { $number } g
spoken-percent = { $number } pour cent
spoken-deg = { degrees }
spoken-deg-s = { $number } degrés par seconde
spoken-rpm = { $number } tours par minute
spoken-min = { $count ->
    [one] { $number } minute
   *[other] { $number } minutes
}
spoken-ft = { $count ->
    [one] { $number } pied
   *[other] { $number } pieds
}
spoken-mi = { $count ->
    [one] { $number } mille
   *[other] { $number } milles
}
spoken-mph = { $number } milles à l'heure
spoken-psi = { $number } psi
spoken-psi-s = { $number } psi par seconde
spoken-celsius = { degrees }
spoken-fahrenheit = { $number } degrés Fahrenheit
spoken-l = { $count ->
    [one] { $number } litre
   *[other] { $number } litres
}
spoken-gal = { $count ->
    [one] { $number } gallon
   *[other] { $number } gallons
}
spoken-volt = { $count ->
    [one] { $number } volt
   *[other] { $number } volts
}
spoken-per-min = { $number } par minute
spoken-number = { $number }
spoken-plus-minus = plus ou moins
spoken-lap-time = { $minutes ->
    [0] { $seconds } secondes
   *[other] { $minutes } { $minutes ->
        [one] minute
       *[other] minutes
    } { $seconds }
}
degrees = { $count ->
    [one] { $number } degré
   *[other] { $number } degrés
}
