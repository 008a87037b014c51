"""Processes: forked children, programs that Holdfast runs, and the process that called it."""
