"""The `skills` format (document 004)."""
