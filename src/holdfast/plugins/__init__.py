"""Handler files: found, read for their routes, trusted, loaded, and what each did wrong."""
