"""Registering Holdfast with the client."""
