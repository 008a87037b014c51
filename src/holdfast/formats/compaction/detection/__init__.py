"""Detect workflows in Markdown: in a memory file (R001-21) and in plans (R001-22)."""
