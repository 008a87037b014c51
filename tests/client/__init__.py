"""Holdfast on the real client: a scripted model, a client in its own home, and checks of what the requests held."""
