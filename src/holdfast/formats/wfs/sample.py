"""How a `wfs` session is begun; it is kept by commands alone, never by hand."""

KIND = "complex"
BEGINS = False
DELIVERS = False
