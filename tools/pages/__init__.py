"""What is generated from the program: the reference in `docs/`, the registration, and the picture of a session."""
