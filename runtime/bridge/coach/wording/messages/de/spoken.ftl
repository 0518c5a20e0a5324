# Zahlen für eine Stimme; $count wählt die Mehrzahl, $number wird gesprochen.

spoken-s = { $count ->
    [one] eine Sekunde
   *[other] { $number } Sekunden
}
spoken-m = { $count ->
    [one] ein Meter
   *[other] { $number } Meter
}
spoken-km = { $count ->
    [one] ein Kilometer
   *[other] { $number } Kilometer
}
spoken-kmh = { $number } Kilometer pro Stunde
spoken-bar = { $number } Bar
spoken-bar-s = { $number } Bar pro Sekunde
spoken-g = { $number } g
spoken-percent = { $number } Prozent
spoken-deg = { $count ->
    [one] ein Grad
   *[other] { $number } Grad
}
spoken-deg-s = { $number } Grad pro Sekunde
spoken-rpm = { $number } Umdrehungen pro Minute
spoken-min = { $count ->
    [one] eine Minute
   *[other] { $number } Minuten
}
spoken-ft = { $count ->
    [one] ein Fuß
   *[other] { $number } Fuß
}
spoken-mi = { $count ->
    [one] eine Meile
   *[other] { $number } Meilen
}
spoken-mph = { $number } Meilen pro Stunde
spoken-psi = { $number } PSI
spoken-psi-s = { $number } PSI pro Sekunde
spoken-celsius = { $number } Grad
spoken-fahrenheit = { $number } Grad Fahrenheit
spoken-l = { $number } Liter
spoken-gal = { $count ->
    [one] eine Gallone
   *[other] { $number } Gallonen
}
spoken-volt = { $number } Volt
spoken-per-min = { $number } in der Minute
spoken-number = { $number }
spoken-plus-minus = plus oder minus
spoken-lap-time = { $minutes ->
    [0] { $seconds } Sekunden
   *[other] { $minutes } { $minutes ->
        [one] Minute
       *[other] Minuten
    } { $seconds } Sekunden
}
