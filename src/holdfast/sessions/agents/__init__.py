"""The agents of a session: launches, runs, results, and the phases that they move."""
