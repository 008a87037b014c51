"""Workflows as Markdown checklists, one file each in `checklists/`."""
