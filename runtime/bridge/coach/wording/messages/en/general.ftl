not-recorded = { $quantity }: not recorded, so it cannot be known.
no-session = No session is open, so there is nothing to measure yet.
unknown-session = There is no session “{ $said }”.
no-complete-lap = No complete lap in this session, so there are no lap times and no corners to compare.
no-circuit = There is no file of this circuit, so its corner names, dangers and plan are not known.
no-corners = Where the corners of this circuit are is not known.
left-out = Leaving out { $corners }.
no-rival = No other driver has a session on this circuit, so there is nobody to compare with.
no-earlier = No earlier session on this circuit, so there is nothing to compare with yet.
no-corner = There is no “{ $said }” { $named ->
    [yes] at { $circuit }
   *[no] on this circuit
}; { $count ->
    [one] it has one corner, { $first }
   *[other] it has { $count } corners, { $first } to { $last }
}. Which one is meant?
no-corner-known = There is no “{ $said }” here: the corners of this circuit are not known.
no-lap = There is no “{ $said }” that counts; { $count ->
    [one] only lap { $first } does
   *[other] { $count } laps do, the first lap { $first }, the last lap { $last }
}.
no-sector = There is no “{ $said }”; the lap has { $count } sectors.
no-straight = There is no “{ $said }”; the straights are { $names }.
no-straight-known = There is no “{ $said }” on this circuit.
no-driver = There is no session of “{ $said }” on this circuit; other drivers here: { $names }.
no-driver-known = There is no session of “{ $said }” on this circuit.
rules = What is allowed, and where, is for the regulations of the event and its marshals to say; the recording does not show it.
of-driver = For { $who }:
