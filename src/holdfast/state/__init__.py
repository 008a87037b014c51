"""State on the ground: atomic files, locks, JSON documents and the ledger."""
