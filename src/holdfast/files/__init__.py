"""Files: atomic writes, locks, careful reading, JSON that keeps its layout, redaction, trust by content."""
