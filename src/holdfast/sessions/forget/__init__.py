"""Forgetting what is remembered of a project, or of a part of it."""
