"""The simulated client: used by the demo, `doctor --fire`, `profile`, the pytest plugin and the survival score."""
