"""A compaction: what the session had before it, what it was given after it, and whether that arrived."""
