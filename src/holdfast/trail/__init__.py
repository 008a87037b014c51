"""The trail: what a session did lately, read from its transcript, for one that has no workflow."""
