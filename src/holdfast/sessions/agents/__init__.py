"""The agents of a session: launched, running, finished or failed, and what their results move."""
