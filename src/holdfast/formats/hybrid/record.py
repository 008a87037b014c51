"""The record of the `hybrid` format: what is known without loading it."""

NAME = "hybrid"
RANK = 0
ADAPTER = "holdfast.formats.hybrid.format"
AGENTS = True
UNIT = "phase"
IN_ORDER = True
DEFAULT_AGENT = "general-purpose"  # the agent of a phase that names none (R000-09)
FINAL: tuple[str, ...] = ("completed",)
RETRIED: tuple[str, ...] = ("failed",)
SPREAD = False
SEVERAL = False
TOP = ".claude/state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = (".claude/state/workflow.json", ".claude/state/workflow.extra.json")
VIEWS: tuple[str, ...] = (".claude/workflow_state_system.md",)
LISTS: tuple[str, ...] = ()
SOURCES: tuple[str, ...] = ()
SHARED = ".claude/workflow_state_system.md"
REOPENING = "`holdfast reopen`"
DEFINITIONS = ""
COMMANDS = "Set and reopen phases, and print the to-do list."
FORMER: tuple[str, ...] = ()
MODEL_VERBS: tuple[str, ...] = ("hybrid phase", "hybrid todos")
CHECK = "states"
