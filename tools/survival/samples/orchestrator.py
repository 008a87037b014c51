"""A sample run. Only commands write its files, so there is none written by hand."""

KIND = "custom"
BEGINS = False
DELIVERS = False
