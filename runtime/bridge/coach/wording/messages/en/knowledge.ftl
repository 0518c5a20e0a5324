circuit = { $name }: { $length }, { $count } corners, { $right } right and { $left } left{ $turning ->
    [clockwise] , driven clockwise
    [anticlockwise] , driven anticlockwise
   *[unknown] {""}
}.
circuit-longest = Longest straight: { $name }, { $length }.
circuit-straight = { $name }: { $length }.
circuit-tightest = Tightest corner: { $corner }.
circuit-corner = { $corner }{ $nicks ->
    [0] {""}
   *[other] {" "}({ $nick })
}: { $severity }, to the { $direction ->
    [left] left
   *[right] right
}, entry { $entry }, apex { $apex } and exit { $exit } after the start line.
circuit-sector = Sector { $number } ({ $name }): { $length }, { $count ->
    [0] no corner
   *[other] { $corners }
}.
severity-1 = hairpin
severity-2 = slow corner
severity-3 = medium corner
severity-4 = medium-fast corner
severity-5 = fast corner
severity-6 = kink
danger-high = high
danger-medium = medium
danger-low = low
danger = { $severity } danger at { $corner } ({ $start } to { $end } after the start line): { $note }
danger-none = No danger zone is on file { $count ->
    [0] for this circuit
   *[other] at { $corners }
}; that does not make it safe.
danger-do = Keep a margin there: build speed in small steps, and look at the place on foot or with an instructor first.
surface-cool_damp = cool and damp
surface-rising_grip = rising grip
surface-optimal = at its best
surface-tire_degradation = past its best, hard on tyres
conditions-unmeasured = Weather, wind, track temperature and grip are not measured.
conditions = { $circuit } at { $hour } o'clock, by the circuit's notes: surface { $surface }.
conditions-note = Note on file: “{ $note }”
wet = In the wet no braking point and no speed of a dry lap counts.
wet-do = Brake earlier and more gently in a straight line, turn the wheel once and slowly, throttle late; keep off painted kerbs and build up over the first laps.
recorded-instead = Recorded and worth a look instead: { $quantities }.
channel-range = { $channel }: { $last } at the last reading, { $low } to { $high } in this session.
channel-wheels = { $quantity } at the last reading: front left { $fl }, front right { $fr }, rear left { $rl }, rear right { $rr }.
channel-assist = { $channel }: { $count ->
    [0] never at work
    [one] at work once
   *[other] at work { $count } times
}{ $placed ->
    [yes] , in { $corners }
   *[no] {""}
}.
channel-gears = Gears used: { $low } to { $high }.
channel-gear = { $count ->
    [one] Gear at the slowest point of { $corner }: { $gear }.
   *[other] Gear at the slowest point of { $corner }: { $gear } in most of { $count } passes.
}
not-recorded-this = That is not recorded, so it cannot be known.
lesson = Lesson in the course: “{ $title }”.
lesson-none = No lesson of the course covers that.
glossary-unknown = That term is not in the glossary.

glossary-apex = Apex: the point where the car is closest to the inside of the corner.
glossary-late_apex = Late apex: touching the inside later in the corner, which opens the exit and allows earlier throttle.
glossary-double_apex = Double apex: a corner so long that the car touches the inside twice.
glossary-apex_speed = Apex speed: the speed at the inside of the corner, mostly the lowest of the corner.
glossary-exit_speed = Exit speed: the speed where the corner ends; it is carried along the whole next straight.
glossary-racing_line = Racing line: the path with the largest radius that the road allows, outside to inside to outside.
glossary-turn_in = Turn-in: the place where steering into the corner begins.
glossary-look_ahead = Looking ahead: eyes on the next place the car must reach, the apex before turn-in, the exit before the apex.
glossary-chicane = Chicane: two corners close together in opposite directions; the exit of the second counts most.
glossary-hairpin = Hairpin: a tight corner that turns the car almost all the way round.
glossary-kerb = Kerb: the raised edge of the road; it widens the line but unloads a tyre for a moment.
glossary-trail_brake = Trail braking: easing the brake off little by little while the steering builds, so that the front tyres stay loaded into the corner.
glossary-early_brake_release = Early release: the brake is let go before turn-in, so that the front tyres lose load just when they must turn the car.
glossary-load_transfer = Load transfer: braking loads the front tyres, accelerating the rear, cornering the outer ones; a loaded tyre grips more.
glossary-threshold_braking = Threshold braking: as hard as the tyres hold, just before a wheel locks.
glossary-lock_up = Lock-up: a braked wheel stops turning and slides; it then neither steers nor brakes well.
glossary-abs = ABS: it releases a wheel's brake for moments before that wheel locks, so that the car still steers.
glossary-brake_point = Brake point: the place where braking for a corner begins, best tied to something visible.
glossary-brake_end_focus = End of braking: the place where the brake is fully released; looking there, not at its start, sets the right entry speed.
glossary-downhill_braking = Braking downhill: the slope lengthens the stop, so the brake point moves back.
glossary-uphill_braking = Braking uphill: the slope shortens the stop, so the brake point can move closer.
glossary-brake_fade = Brake fade: overheated brakes slow the car less for the same pedal, or the pedal gets long; come in and have them checked.
glossary-brake_bias = Brake bias: the share of the braking that the front wheels do.
glossary-left_foot_braking = Left-foot braking: the left foot brakes, so the right need not change pedals.
glossary-heel_and_toe = Heel and toe: the right foot brakes and blips the throttle at once, so that revs match the lower gear.
glossary-rev_matching = Rev matching: a touch of throttle on the downshift, so that the engine already turns as fast as the lower gear needs.
glossary-throttle_pick_up = Throttle pick-up: the place where the throttle opens again in or after a corner.
glossary-coasting = Coasting: neither pedal used; here brake under { $brake }, throttle under { $throttle }, faster than { $speed }.
glossary-full_commitment = Full commitment: on a straight the throttle is fully open, with no coasting before the brake.
glossary-understeer = Understeer: the front tyres reach their limit first; the car turns less than the wheel asks and runs wide.
glossary-oversteer = Oversteer: the rear tyres reach their limit first; the tail comes round.
glossary-lift_off_oversteer = Lift-off oversteer: a lift in the corner takes load off the rear tyres, and the tail comes round.
glossary-counter_steering = Counter-steering: turning the wheel towards the slide to catch the tail.
glossary-yaw_rate = Yaw rate: how fast the nose of the car turns, in degrees per second.
glossary-slip_angle = Slip angle: the angle between where a tyre points and where it travels; grip grows with it for a few degrees, then falls.
glossary-grip = Grip: the force a tyre can pass to the road before it slides; braking, cornering and accelerating share it.
glossary-friction_circle = Friction circle: one grip for braking, cornering and accelerating; what one takes the others cannot have.
glossary-g_force = g: acceleration in units of gravity; 1 g sideways presses with the body's own weight.
glossary-downforce = Downforce: air pressing the car onto the road, more the faster it goes.
glossary-camber = Camber: how far a wheel leans; of a road, how far it leans to one side.
glossary-slipstream = Slipstream: the thinner air behind a car, less drag on the straight, less downforce in the corner.
glossary-delta = Delta: how far one lap is behind another at the same place.
glossary-ideal_lap = Ideal lap: the best sectors put together; a guide, not a promise.
glossary-sector = Sector: a part of the lap with its own time.
glossary-reference_lap = Reference lap: the lap that others are measured against.
glossary-out_lap = Out-lap: the lap that starts in the pits; its time is not compared.
glossary-in_lap = In-lap: the lap that ends in the pits; its time is not compared.
glossary-stint = Stint: the laps from leaving the pits to coming back.
glossary-track_limits = Track limits: the edges of the road; a lap with all wheels beyond them mostly does not count.
