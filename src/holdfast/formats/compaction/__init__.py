"""The `compaction` format (document 001)."""
