"""Grounding: lies of every kind that a model told, of which none may be shown."""

from typing import Final

import pytest

from runtime.bridge.coach.warm.grounding import Reader, false_part, grounded
from tests.bridge.coach.warm.groundkit import EVIDENCE

LIES: Final = {
    "ranks and superlatives": """
        Your best lap was lap 5.
        Lap 5 was the quickest of the day.
        Your second lap was your best.
        Lap 1 was your slowest.
        Lap 3 was your third fastest.
        Your fastest lap was 2:10.836.
        Your best lap was 2:12.836 on lap 6.
        You set your best time on lap 1.
        Lap 7 was your slowest lap.
        Turn 4 is the tightest corner.
        The hairpin is the fastest corner.
        You can gain 4.26 s with your best sectors.
        Turn 4 is your best corner.
        Turn 4 is your strongest corner.
        Turn 7 was your strongest corner.
        Turn 3 was your weakest.
        Turn 5 was your weakest corner.
        Sector 1 was your strongest.
        You were slowest in sector 3.
        You were 0.62 s faster than your best pass at Turn 4.
        Your best pass was 0.62 s slower at Turn 4.
        You improved your best by 0.49 s.
        You set a new personal best.
        A new best for you here.
        You lost most of your time under braking.
        Most of your time loss is in Turn 7.
        Turn 7 cost you the most.
        You lost the most at Turn 7.
        The biggest loss was at Turn 7.
        Your exit speed is the highest at Turn 5.
        You had the highest apex speed at Turn 5.
        You are the fastest.
        You lost two thirds of a second at Turn 4.
        Barely 0.6 s lost at Turn 4, your smallest loss.
        It would be 0.49 s slower with your best sectors.
        You lost 0.49 s with your best sectors.
        How did you manage to be best at Turn 4?
        You are the best.
        Turn 4 is the priority and you lost 0.30 s there.
        Your loss at Turn 4, 0.30 s, is the biggest.
    """,
    "what a corner is": """
        Turn 5 is a right-hander.
        Turn 4 is left.
        Turn 4 goes left.
        Turn 4 climbs.
        Turn 4 is downhill.
        Turn 7 is flat.
        Turn 4 comes after Turn 5.
        Turn 4 is the uphill one.
        Turn 8 opens up.
        Turn 6 is a chicane.
        Turn 11 is a blind corner.
        Turn 4 has gravel outside.
    """,
    "counts, and things that never happened": """
        Corner three cost you time.
        Corner five cost you three seconds.
        You spun three times.
        You crashed twice.
        You had one spin.
        You locked up once.
        You had two offs.
        You missed the apex four times.
        You completed six laps.
        You did six passes at Turn 2.
        You drove nine clean laps.
        You never coasted.
        Everyone loses 0.62 s at Turn 4.
        Your lap times improved every lap.
        Two of your laps were slower.
        Half of your laps were good.
        Both corners cost you time.
        You lost three tenths at Turn 4.
        You lost half a second at Turn 5.
        You overtook three cars.
        You lost up to 0.62 s every lap at Turn 4.
        Do you remember your spin at Turn 4?
    """,
    "right numbers of something else, and wrong ones": """
        Your apex speed at Turn 5 was 65.4 km/h.
        Your exit speed at Turn 5 was 53.0 km/h.
        Your exit speed at Turn 4 was 65.4 km/h.
        Your top speed at Turn 5 was 188.3 km/h.
        You reached 188.3 km/h at Turn 5.
        You braked with 43.3 bar at Turn 4.
        You hit 43.3 bar in Turn 4.
        Your gap was 132.8 s.
        Your laps were within 0.49 s of each other.
        The spread is 0.62 s.
        You lost 0.26 s at Turn 4.
        You lost 0.30 s in Turn 4.
        You lost 0.62 s in Turn 5.
        Turn 4 delta: -0.62 s.
        You braked 15 m deeper at Turn 4.
        Your exit at Turn 4 was slow.
        You were slow at the exit of Turn 4.
        You left Turn 4 1.1 km/h slower.
        You left Turn 4 too slowly.
        You lost no time at Turn 4.
        You coasted for 2.9 s at Turn 4.
        You coasted for 2.0 s at Turn 7.
        You coasted for 2.0 s on lap 3.
        You beat your reference by 0.62 s at Turn 4.
        The reference lost 0.62 s at Turn 4.
        Mia lost 0.62 s at Turn 5.
        You lost 0.62 s at Turn 4 on lap 7.
        Lap 1 cost you 0.62 s at Turn 5.
        Lap 7 was slower than lap 1.
        Lap 1 was 5 s slower than lap 7.
        You have 62% throttle at Turn 4.
        You used 62 percent throttle.
        You lost 0.62 s at the apex of Turn 4.
        You lost 0.10 s at the entry of Turn 4.
        You lost 0.62 s by coasting at Turn 4.
        You lost 0.62 s at Turn 4 but only 0.10 s at Turn 5.
        You lost 0.62 s, 0.30 s and 0.32 s.
        You lost 620 ms at Turn 5.
        You lost six tenths at Turn 5.
        You lost a second at Turn 4.
        You lost time at Turns 4 and 3.
        Turns 2 and 3 cost you time.
        You lost 0.62 s at Turn Four's exit.
        Only 0.1 s lost in Turn 4.
        Less than 0.1 s was lost at Turn 4.
        Over 0.6 s was lost in Turn 4.
        Your ideal lap is 0.49 s slower.
        Your ideal lap is 132.8 s.
        You lost 4.26 s over the laps.
        Your apex speed at Turn 5 was 57.4 km/h.
        The reference apex speed at Turn 5 is 53.0 km/h.
        Your reference exit at Turn 5 is 65.4 km/h.
        You carried 4.3 km/h less through the exit of Turn 5.
        You left Turn 5 at 69 km/h instead of 65 km/h.
        You left Turn 4 at 48.5 km/h instead of 49.6 km/h.
        Why were you so slow at Turn 4?
        Did you enjoy losing 0.62 s at Turn 7?
        What happened on lap 5 at Turn 9?
        Turn 4: lost 0.62 s, Turn 5: lost 0.62 s.
        | Turn 4 | 0.62 | s |
        Turn 4 lost 0.30 Turn 5 lost 0.62.
        0.62 s.
        Turn 4.
        4.
        Turn 5 is the one.
        The exit of Turn 4 was missing 3.7 km/h.
        The entry of Turn 5 was missing 3.7 km/h.
        3.7 km/h were missing at the exit of Turn 4.
        Your throttle was 23 points lower at the exit of Turn 5.
        Your throttle was 23 points higher at the exit of Turn 7.
        The braking point at Turn 4 was 15 m before the entry.
        Your minimum speed at Turn 5 was 65.4 km/h.
        Your maximum speed at Turn 5 was 53.0 km/h.
        Your average speed was 188.3 km/h.
        Your average speed at Turn 5 was 53.0 km/h.
        Your peak g was 1.85.
        You peaked at 0.85 g at Turn 4.
        You peaked at 0.67 g.
        Your score at Turn 5 is 88 %.
        Your score is 67 %.
        You left the track at Turn 4.
        You went wide at Turn 4.
        You rolled at Turn 4.
        You rolled the car at Turn 4.
        You lost it at Turn 4.
        You lost the car at Turn 4.
        You dropped a wheel at Turn 4.
        You lost grip at Turn 4.
        You lost the exit at Turn 8.
        You lost your pace at Turn 8.
    """,
    "the opposite of what happened": """
        You bled 0.62 s into a gain at Turn 4.
        You clawed back 0.62 s at Turn 4.
        You picked up 0.62 s at Turn 4.
        You found 0.62 s at Turn 4.
        You shaved 0.62 s off at Turn 4.
        You shed 0.62 s at Turn 4.
        +0.62 s in Turn 4.
        Turn 4: +0.62 s.
        Turn 4: 0.62 s up.
        You were 0.62 s up at Turn 4.
        You were 0.62 s ahead at Turn 4.
        You braked 15 m late at Turn 4.
        You braked 15 m early at Turn 5.
        You were faster at Turn 4.
        You gained time at Turn 4.
        You braked late at Turn 4.
        Turn 4 cost you nothing.
        You did not lose time at Turn 4.
        You hardly coasted at Turn 4.
        Lap 1 was faster than lap 7.
        Lap 1 was 1.477 s faster than lap 7.
        You are 0.49 s faster than before.
        You lost more time at Turn 5 than Turn 4.
        You look ahead well.
        You turned in late at Turn 4.
        You got on the throttle early at Turn 4.
        You were early on the throttle at Turn 4.
        You opened the throttle 15 m early at Turn 4.
        You released the brake early at Turn 4.
        You lost 0.62 s because you braked late at Turn 4.
        You lost 0.62 s at Turn 4 and gained 0.30 s at Turn 5.
        The leader was 0.62 s faster at Turn 4.
        Turn 4, 0.62 s faster.
        Turn 4: faster by 0.62 s.
        More than 0.6 s was lost at Turn 4.
        Nearly a second went in Turn 4.
        You carried 4.3 km/h more through the apex of Turn 5.
        Turn 5 is where you gained.
        On lap 7, you gained 0.62 s at Turn 4.
        Your brakes came 15 m late at Turn 4.
        Brake release at Turn 4 was 15 m early.
        Turn-in at Turn 4 was 15 m early.
        Your lateral g was 0.85 g.
        You hit the brakes late at Turn 4.
    """,
    "verdicts that no fact carries": """
        Sector 2 is where you shine.
        Turn 4 went well.
        Turn 4 was clean.
        Turn 4 was excellent.
        Great job in Turn 4.
        Good work at Turn 4.
        Well done at Turn 4.
        Nice exit at Turn 5.
        Good exit out of Turn 5.
        Strong braking into Turn 4.
        You nailed Turn 4.
        Turn 4 earned an A.
        You got an A for Turn 4.
        Turn 4 earned a B.
        Your session grade is A.
        You are an A driver.
        You improved by 0.62 s at Turn 4.
        You are consistent.
        You were very consistent at Turn 4.
        Your line was perfect.
        Your hands were calm.
        Your steering was smooth at Turn 4.
        You were smooth on the brakes.
        You are fast.
        You lost 0.62 s at Turn 4, while Turn 7 was perfect.
        Turn four: perfect.
        Perfect lap!
        You are doing great at Turn 4.
        You were great.
        Great lap 3!
        Good lap 7, bad lap 3.
        You won!
        You have won the race.
        You can win.
        You are ready to win.
        Well done for the win.
        You did very well at Turn 4.
        Great speed today.
        Great exit today.
        Great lap times.
        You're improving.
        You are getting better.
        Better than ever.
        It was great.
        Lap 7 and Turn 5 were good.
        Turn 4 was good for lap 7.
        Losing 0.62 s at Turn 4 was fine.
        You earned 67 points at Turn 10.
    """,
    "claims without a number": """
        The tyres were cold.
        It was raining.
        The engine was overheating.
        Your brakes are worn.
        Your heart rate was high.
        Fantastic, a new record!
        You did it!
        You.
        It was.
        There it was.
        You were there.
        So you were.
        Yes.
        You left the road.
        You ran out of road.
        You hit the kerb.
        You hit the car.
        You took the corner.
        You lost your brakes.
        Your car lost power.
    """,
    "what nobody should be advised, or not there": """
        Ignore the yellow flags.
        Ignore the marshals at Turn 4.
        Take off your seat belt.
        Undo your belts before the finish.
        Drink a beer before the next run.
        Turn off the traction control.
        Stay flat out through Turn 4.
        Keep your foot down through Turn 4.
        Use full throttle through Turn 4.
        Go to full throttle at the apex of Turn 4.
        Brake at the apex.
        Brake after the apex of Turn 4.
        Brake in the middle of the corner.
        Brake hard in the middle of Turn 4.
        Lift in the middle of Turn 7.
        Lift suddenly at the apex.
        Cut the kerb at Turn 4.
        Use the grass at the exit.
        Drive over the track limits.
        Race your friends on the road.
        Close your eyes.
        Look down at your phone.
        Look at the wall.
        Look at your dash.
        Keep your eyes closed.
        Keep your hands off the wheel.
        Let go of the wheel.
        Turn the wheel hard.
        Snatch the brake.
        Stab the brake at Turn 4.
        Hold the brake through the exit.
        Keep the brake on until the exit.
        Do not brake at Turn 4.
        Never brake at Turn 4.
        Don't lift at Turn 4.
        Never lift.
        Avoid braking.
        Do not look at the exit.
        Don't use the brake.
        Brake less.
        Brake later everywhere.
        Brake later at Turn 5 and Turn 7.
        Brake later at Turn 7.
        Brake earlier at Turn 4.
        Start braking sooner at Turn 4.
        Carry 10 km/h more through Turn 4.
        Aim for 90 km/h at the apex of Turn 5.
        Brake 20 m later at Turn 4.
        Use 60 bar at Turn 4.
        Keep your perfect line at Turn 4.
        Repeat your great exit at Turn 5.
        Keep your strong exit at Turn 5.
        Keep doing what you do at Turn 4, your best corner.
        Stop spinning at Turn 4.
        Stop locking the wheels.
        Try not to crash again.
        Work on Turn 2, your weakest corner.
        Work on Turn 2.
        Next time, avoid the spin at Turn 4.
        Look ahead, as you did on lap 5.
        Keep the throttle down at Turn 4.
        Keep the throttle open in the corner.
        Squeeze the throttle at the turn-in.
        Release the brake at once.
        Accelerate through the apex.
        Accelerate through the pit lane.
        Overtake at Turn 4.
        Turn in earlier at Turn 4.
        Turn in early.
        Release the wheel.
        Drop the throttle.
        Open the door.
        Go straight at Turn 4.
        Keep the wheel straight in Turn 4.
        Let the wheel go.
        Let your hands off the wheel.
        Unwind the wheel at the entry.
        Repeat exactly what you did at Turn 4.
        Keep doing what worked at Turn 4.
        Brake gently at Turn 4.
        Brake lightly at the hairpin.
        Check your mirrors at the apex.
        Trust the grip at Turn 7.
        Use full throttle before the apex.
        Squeeze the throttle before the apex.
        Get on the throttle before turn-in at Turn 4.
        Wait with the brake until the apex.
        Brake as late as you can.
        Brake much later at Turn 5.
        Brake half a second later at Turn 5.
        Brake two seconds later.
        Keep the speed up through Turn 4.
        Hold the throttle until the apex.
        Turn in on the throttle.
        Open the throttle at the entry.
        Carry as much speed as you can.
        Attack Turn 4.
        Push harder.
        Push hard at Turn 4.
        Drive faster.
        Drive faster at Turn 4.
        Go faster.
        Be faster.
        Be brave.
        Take Turn 4 flat.
        Take Turn 4 in fifth gear.
        Shift up before Turn 4.
        Use third gear at Turn 4.
        Turn left at Turn 4.
        Stay left at Turn 2.
        Look left before Turn 4.
        Pass on the inside at Turn 4.
        Pass the car ahead.
        Skip the warm up.
        Switch ABS off.
        Do not slow down for the yellow flag.
        Do not stop in the pits.
        Forget the flags.
        Jump on the throttle.
        Stand on the brakes in the corner.
        Let the rear slide.
        Slide the car at the exit.
        Keep the brake pressed at the exit.
        Breathe in the exhaust.
        Relax your belts.
        Loosen your belts.
        Drink wine.
        Rest on the track.
        Come back on the track.
        Leave the track.
        Leave no room.
        Leave no margin.
        Use the road.
        Use the whole road.
        Drive home fast.
        Drive without a helmet.
        Drive two more laps without brakes.
        Drive without lights.
        Work without rest.
        Stop at the apex.
        Park at Turn 4.
        Turn around.
        Reverse at Turn 4.
    """,
}


@pytest.mark.parametrize("kind", sorted(LIES))
def test_no_lie_is_shown(kind: str) -> None:
    lies = [line.strip() for line in LIES[kind].strip().splitlines()]
    assert len(lies) >= 10
    shown = [lie for lie in lies if false_part(lie, EVIDENCE) is None]
    assert shown == []


@pytest.mark.parametrize("kind", sorted(LIES))
def test_no_lie_is_shown_behind_a_truth(kind: str) -> None:
    for lie in LIES[kind].strip().splitlines():
        reader = Reader(EVIDENCE)
        assert reader("You lost 0.62 s at Turn 4.")
        assert not reader(lie.strip()), lie


@pytest.mark.parametrize(
    "lie",
    [
        "You lost \uff10.\uff19 s at Turn 4.",
        "You lost 0\u20249 s at Turn 4.",
        "You lost \u00bd s at Turn 4.",
        "You lost 0.62s at T\u1d1crn 5.",
        "You lost 0.62 s at Turn\uff14.",
        "You lost 0\u200b.30 s at Turn 4.",
        "You gained\u00a00.62\u00a0s at Turn\u00a04.",
        "\u202eYou lost 0.30 s at Turn 4.",
        "You l\u043est 0.62 s at Turn 5.",
    ],
)
def test_odd_letters_hide_no_lie(lie: str) -> None:
    assert false_part(lie, EVIDENCE) is not None
    assert grounded(lie, EVIDENCE).kept == 0
