"""Dispatch one event: read it, call its handlers, merge their answers and write the reply."""
