"""A sample `wfs` session. Only commands write its files, so there is none written by hand."""

KIND = "complex"
BEGINS = False
DELIVERS = False
