"""Registering: what handlers want written into the client's settings, the launcher beside it, and the record of both."""
