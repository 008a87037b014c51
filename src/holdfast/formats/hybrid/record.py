"""The record of the `hybrid` format: what is known without loading it."""

NAME = "hybrid"
RANK = 0
MODULE = "holdfast.formats.hybrid.format"
AGENTS = True
UNIT = "phase"
DEFAULT_AGENT = "general-purpose"  # the agent of a phase that names none (R000-09)
TOP = ".claude/state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = (".claude/state/workflow.json", ".claude/state/workflow.extra.json")
VIEWS: tuple[str, ...] = (".claude/workflow_state_system.md",)
SHARED = ".claude/workflow_state_system.md"
FORMER: tuple[str, ...] = (
    "hybrid phase = `holdfast done` and `holdfast update --phase N --status STATUS` move a phase",
    "hybrid reopen = use `holdfast reopen PHASE`",
    "hybrid todos = use `holdfast status --todos`",
    "hybrid = use `holdfast done`, `update`, `reopen` and `status --todos`",
)
