"""What Holdfast remembers of a project: one SQLite file, its tables, and one log."""

SCHEMA_VERSION = 6
"""The number of the schema (`rows`), which is part of a ledger's file name: another schema begins a new ledger."""
