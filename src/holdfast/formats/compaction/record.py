"""The record of the `compaction` format: what is known without loading it."""

NAME = "compaction"
RANK = 1
ADAPTER = "holdfast.formats.compaction.adapter"
AGENTS = False
UNIT = "phase"
IN_ORDER = True
FINAL: tuple[str, ...] = ("completed",)
RETRIED: tuple[str, ...] = ("failed",)
SPREAD = False
SEVERAL = True
TOP = "untracked/workflow-state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = ("untracked/workflow-state/*/state-*.json",)
VIEWS: tuple[str, ...] = ()
LISTS: tuple[str, ...] = ()
SOURCES: tuple[str, ...] = ("CLAUDE.local.md", "CLAUDE/Plan/*/PLAN.md")  # R001-21, R001-22
SHARED = ""
REOPENING = "`holdfast log` shows what its file held, and `holdfast restore N --workflow {id}` puts that back"
DEFINITIONS = ""
COMMANDS = ""
FORMER: tuple[str, ...] = ()
MODEL_VERBS: tuple[str, ...] = ()
CHECK = "states"
