"""The report: what happened in a project, as one page that one can look at."""
