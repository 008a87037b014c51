"""One event: read, given to its handlers one by one, their answers merged, and the reply written."""
