"""What is known of the `checkbox` format without loading it."""

NAME = "checkbox"
MODULE = "holdfast_checkbox.format"
UNIT = "item"
SEVERAL = True
TOP = "checklists"
PRESENCE = (TOP,)
STATES = ("checklists/*.md",)
SHARED = TOP
REOPENING = "take the `x` out of a box in its file"
