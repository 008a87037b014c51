"""One module for each event: when it fires, an example of a handler, and its model."""
