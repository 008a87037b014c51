"""Forget what Holdfast remembers of a project, or of a part of it."""
