"""Web plumbing shared by the two servers; knows no domain."""
