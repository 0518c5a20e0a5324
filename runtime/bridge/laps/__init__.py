"""Where a lap begins and ends, and where in the lap the car was: pure functions on columns."""
