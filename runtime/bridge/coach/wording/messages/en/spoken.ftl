# Numbers for a voice; $count chooses the plural, $number is said.

spoken-s = { $count ->
    [one] one second
   *[other] { $number } seconds
}
spoken-m = { $count ->
    [one] one metre
   *[other] { $number } metres
}
spoken-km = { $count ->
    [one] one kilometre
   *[other] { $number } kilometres
}
spoken-kmh = { $number } kilometres per hour
spoken-bar = { $number } bar
spoken-bar-s = { $number } bar per second
spoken-g = { $number } g
spoken-percent = { $number } percent
spoken-deg = { degrees }
spoken-deg-s = { $number } degrees per second
spoken-rpm = { $number } revolutions per minute
spoken-min = { $count ->
    [one] one minute
   *[other] { $number } minutes
}
spoken-ft = { $count ->
    [one] one foot
   *[other] { $number } feet
}
spoken-mi = { $count ->
    [one] one mile
   *[other] { $number } miles
}
spoken-mph = { $number } miles per hour
spoken-psi = { $number } psi
spoken-psi-s = { $number } psi per second
spoken-celsius = { degrees }
spoken-fahrenheit = { $number } degrees Fahrenheit
spoken-l = { $count ->
    [one] one litre
   *[other] { $number } litres
}
spoken-gal = { $count ->
    [one] one gallon
   *[other] { $number } gallons
}
spoken-volt = { $count ->
    [one] one volt
   *[other] { $number } volts
}
spoken-per-min = { $number } a minute
spoken-number = { $number }
spoken-plus-minus = plus or minus
spoken-lap-time = { $minutes ->
    [0] { $seconds } seconds
   *[other] { $minutes } { $minutes ->
        [one] minute
       *[other] minutes
    } { $seconds }
}
degrees = { $count ->
    [one] one degree
   *[other] { $number } degrees
}
