"""The simulated client: used by the demo, `doctor --fire`, the pytest plugin and the development tools."""
