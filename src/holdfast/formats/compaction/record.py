"""The record of the `compaction` format: what is known without loading it."""

NAME = "compaction"
RANK = 1
ADAPTER = "holdfast.formats.compaction.format"
UNIT = "phase"
SEVERAL = True
TOP = "untracked/workflow-state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = ("untracked/workflow-state/*/state-*.json",)
SOURCES: tuple[str, ...] = ("CLAUDE.local.md", "CLAUDE/Plan/*/PLAN.md")  # R001-21, R001-22
REOPENING = "`holdfast log` shows what its file held, and `holdfast restore N --workflow {id}` puts that back"
