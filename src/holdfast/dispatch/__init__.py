"""The way of one event: read it, call its handlers, merge their answers, write the reply."""
