"""The ledger: Holdfast's own memory of a project, one SQLite database in the user's state folder."""
