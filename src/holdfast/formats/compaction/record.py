"""The record of the `compaction` format: what is known without loading it."""

NAME = "compaction"
RANK = 1
MODULE = "holdfast.formats.compaction.format"
UNIT = "phase"
SEVERAL = True
TOP = "untracked/workflow-state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = ("untracked/workflow-state/*/state-*.json",)
SOURCES: tuple[str, ...] = ("CLAUDE.local.md", "CLAUDE/Plan/*/PLAN.md")  # R001-21, R001-22
REOPENING = "`holdfast restore --workflow {id}` lists what its file held, and with a number puts that back"
