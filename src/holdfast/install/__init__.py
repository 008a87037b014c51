"""Registering: what handlers want written into the client's settings, the launcher, and the record of both."""
