"""What can be wrong between sources, and how it is reported."""
