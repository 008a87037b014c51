"""The report: what happened in a project, as one HTML page."""
