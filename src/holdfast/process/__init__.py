"""Processes: children that report through pipes, programs that are run to see how they end, and who called."""
