not-recorded = { $quantity }: no registrado, así que no se sabe.
no-session = No hay ninguna sesión abierta, todavía no hay nada que medir.
unknown-session = No hay ninguna sesión «{ $said }».
no-complete-lap = Ninguna vuelta completa en esta sesión, así que no hay tiempos por vuelta ni curvas que comparar.
no-circuit = No hay archivo de este circuito: no se conocen los nombres de las curvas, los peligros ni el plan.
no-corners = No se sabe dónde están las curvas de este circuito.
left-out = Aparte: { $corners }.
no-rival = Ningún otro piloto tiene una sesión en este circuito: no hay con quién comparar.
no-earlier = No hay ninguna sesión anterior en este circuito, todavía no hay nada que comparar.
no-corner = No hay «{ $said }» { $named ->
    [yes] en { $circuit }
   *[no] en este circuito
}; { $count ->
    [one] tiene una sola curva, { THE($first) }
   *[other] tiene { $count } curvas, de { THE($first) } a { THE($last) }
}. ¿Cuál?
no-corner-known = No hay «{ $said }» aquí: no se conocen las curvas de este circuito.
no-lap = No hay «{ $said }» entre las que cuentan; { $count ->
    [one] solo cuenta la vuelta { $first }
   *[other] cuentan { $count } vueltas, la primera es la vuelta { $first }, la última la vuelta { $last }
}.
no-sector = No hay «{ $said }»; la vuelta tiene { $count } sectores.
no-straight = No hay «{ $said }»; las rectas son { $names }.
no-straight-known = No hay «{ $said }» en este circuito.
no-driver = No hay ninguna sesión de «{ $said }» en este circuito; otros pilotos aquí: { $names }.
no-driver-known = No hay ninguna sesión de «{ $said }» en este circuito.
rules = Qué está permitido, y dónde, lo dicen el reglamento de la prueba y los comisarios; la grabación no lo muestra.
of-driver = Para { $who }:
