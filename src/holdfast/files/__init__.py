"""Files on disk: written whole or not at all, locked, read with care, and kept free of secrets."""
