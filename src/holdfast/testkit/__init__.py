"""The simulated client, for the demo, `doctor --fire`, profiles, the pytest plugin and the survival score."""
