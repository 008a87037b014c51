"""Workflows as they lie on disk: the right wing, which knows nothing of events."""
