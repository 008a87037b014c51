"""The agents of a session, from their launch to what their results move."""
