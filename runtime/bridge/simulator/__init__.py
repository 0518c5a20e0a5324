"""A synthetic car: drives laps on paper and sends what its logger would put on the bus."""
