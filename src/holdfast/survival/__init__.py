"""What Holdfast remembers about a project beside its state files; each module owns its ledger table."""
