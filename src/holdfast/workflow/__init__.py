"""Workflows on disk: the neutral model over all formats. Knows nothing of events."""
