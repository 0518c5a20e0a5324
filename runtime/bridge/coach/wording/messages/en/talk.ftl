greeting = Hello. Ready for questions about the session: lap times, corners, braking, or what to work on next.
thanks = Glad to help, any time.
who = This is software, not a person: a coach program that computes every number from the recording.
abilities = It can be asked about lap times and sectors, any corner, braking, throttle and grip, another driver, progress, and what to work on next.
style = Noted.
off-topic = That is not in the driving data, so it cannot be known here; questions about the session are welcome.
mood = Hard days happen to every driver. The recording knows these laps only, not everyone else's day.
coach-speed = Usual time for an answer: { $usual }, slowest { $slowest }, over the last { $count ->
    [one] answer
   *[other] { $count } answers
}.
coach-speed-none = No answer has been timed yet.
not-understood = Not sure what is meant.
quoted = “{ $text }”
did-you-mean = Did you mean: { $choices }?
more-in-lesson = Lesson: “{ $title }”.
coach-model = Coach model: { $text }
took-too-long = That took too long to work out; please ask again.
link-also = Also: { $text }
link-then = Then: { $text }
query-found = The query found { $count ->
    [one] one row
   *[other] { $count } rows
}{ $more ->
    [yes] , and there are more
   *[no] {""}
}: { $text }.
query-empty = The query found nothing: nothing of that was recorded.
query-refused = The query was not run: { $why }.
query-failed = The query gave nothing: { $why }.
script-kept = { $count ->
    [one] One phrase is kept
   *[other] { $count } phrases are kept
} among the notes of the session.
script-not-kept = The phrases could not be kept.
