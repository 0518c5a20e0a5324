"""Makes the small coach model that the project ships: corpus, training, export."""
