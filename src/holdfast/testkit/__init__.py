"""A simulated client, for the demo, `doctor --fire`, profiles and the survival score."""
