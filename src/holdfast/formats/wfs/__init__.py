"""The `wfs` format (document 002)."""
