"""The `hybrid` format (document 000)."""
