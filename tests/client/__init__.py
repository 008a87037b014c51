"""Holdfast on the real client: a scripted model, a client of its own home, and what stood in the requests."""
