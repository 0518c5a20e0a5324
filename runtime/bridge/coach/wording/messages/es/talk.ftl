greeting = Hola. Listo para preguntas sobre la sesión: tiempos, curvas, frenada o en qué trabajar ahora.
thanks = Un placer, cuando haga falta.
who = Es un programa, no una persona: un software de coaching que calcula cada número a partir de la grabación.
abilities = Se puede preguntar por tiempos y sectores, cualquier curva, frenada, gas y agarre, otro piloto, el progreso y en qué trabajar ahora.
style = Anotado.
off-topic = Eso no está en los datos de conducción, así que aquí no se sabe; las preguntas sobre la sesión son bienvenidas.
mood = Todo piloto tiene días difíciles. La grabación solo conoce estas vueltas, no el día de los demás.
coach-speed = Tiempo habitual de respuesta: { $usual }, el más largo { $slowest }, en { $count ->
    [one] la última respuesta
   *[other] las últimas { $count } respuestas
}.
coach-speed-none = Todavía no se ha medido ninguna respuesta.
not-understood = No queda claro qué se pregunta.
quoted = «{ $text }»
did-you-mean = ¿Se trata de esto? { $choices }
more-in-lesson = Lección: «{ $title }».
coach-model = Modelo del coach: { $text }
took-too-long = El cálculo tardó demasiado; hay que preguntar de nuevo.
link-also = Además: { $text }
link-then = Después: { $text }
query-found = La consulta encontró { $count ->
    [one] una fila
   *[other] { $count } filas
}{ $more ->
    [yes] , y hay más
   *[no] {""}
}: { $text }.
query-empty = La consulta no encontró nada: nada de eso se registró.
query-refused = La consulta no se ejecutó: { $why }.
query-failed = La consulta no dio nada: { $why }.
script-kept = { $count ->
    [one] Una frase queda guardada
   *[other] { $count } frases quedan guardadas
} en las notas de la sesión.
script-not-kept = No se pudieron guardar las frases.
