"""Which session owns a workflow."""
