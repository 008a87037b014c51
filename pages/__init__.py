"""What generates parts of README and `docs/` from the program: the reference and the picture of a session."""
