"""Replay events in a throw-away copy of a project, and say where the time went."""
