"""Formats without code: a TOML file describes a JSON file with phases and statuses, and one adapter keeps it."""
