"""The routes of the bridge, by group."""
