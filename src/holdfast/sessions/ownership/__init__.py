"""Which session is live, and which of them owns a workflow."""
