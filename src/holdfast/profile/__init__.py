"""Replaying events in a throw-away double of a project, and saying where the time went."""
