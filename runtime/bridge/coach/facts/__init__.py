"""What the coach knows of a session, a circuit and a driver: facts without words."""
