"""Measuring what the tests find: bugs planted in the source, one at a time."""
