"""The `orchestrator` format (document 003)."""
