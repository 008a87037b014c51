"""Handler files: found, read for their routes, and loaded."""
