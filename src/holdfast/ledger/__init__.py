"""The ledger: Holdfast's SQLite database for a project, in the user's state folder."""
