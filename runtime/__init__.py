"""The two servers of Paddock and the plumbing that they share."""
