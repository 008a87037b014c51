"""Handlers against forced pushes."""
