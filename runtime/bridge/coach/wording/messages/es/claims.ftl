claim-right = Correcto:{" "}
claim-wrong = No es así:{" "}
claim-partly = No en todas las vueltas:{" "}
claim-flat = { $verdict }{ $where }, { $lifted ->
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
claim-compared = { $verdict }{ $where }, { $what }{ $at }: { $pair ->
    [laps] vuelta { $first } { $own }{ $side }, vuelta { $other } { $theirs }
    [best] { $first } { $own }, { $other } { $theirs } (mejores vueltas)
   *[usual] { $first } { $own }{ $side }, { $other } { $theirs } (vueltas habituales)
}: { $compared ->
    [level] igual
    [early] { $difference } antes
    [late] { $difference } más tarde
    [low] { $difference } menos
    [long] { $difference } más
    [short] { $difference } menos
   *[high] { $difference } más
}.
claim-range = { $verdict }{ $where }, { $what }{ $at }: vuelta habitual { $usual }{ $side }, de { $least } (vuelta { $other_lap }) a { $most } (vuelta { $lap }){ $asked ->
    [width] , una diferencia de { $width } en { $count } vueltas
    [some] {"; algo en"} { $hits } de { $count } vueltas
   *[so] {"; así en"} { $hits } de { $count } vueltas
}.
claim-lap = { $verdict }{ $where }, { $what }{ $at }: vuelta { $lap } { $own }{ $side }{ $same ->
    [yes] , { $end }
   *[no] ; { $end }: { $best }, vuelta { $first }
}.
claim-corner = { $verdict }{ $where }: { $what }{ $at } { $own }{ $side } (vuelta habitual){ $same ->
    [yes] , { $end } de las curvas
   *[no] ; { $end }: { $best }, { $first }
}.
claim-loss = { $verdict }en { THE($where) } { $sign ->
    [lost] se pierden { $loss } por vuelta
    [gained] se ganan { $loss } por vuelta
   *[level] no hay diferencia
} frente { $against ->
    [usual_other] a la vuelta habitual de { $other }
   *[best_pass] al mejor paso
}; puesto { $rank } de { $count } por tiempo perdido; donde más se pierde: { $worst }, { $worst_loss }.
