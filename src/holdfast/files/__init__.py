"""Files: written whole or not at all, locked, read with care, kept free of secrets."""
