"""Handing out what is remembered of a project as one document, and forgetting it."""
