"""The circuits: their files, what can be asked of them, and how one is made from a drive."""
