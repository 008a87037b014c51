"""The record of the `orchestrator` format: what is known without loading it."""

NAME = "orchestrator"
RANK = 3
ADAPTER = "holdfast.formats.orchestrator.adapter"
AGENTS = True
UNIT = "task"
IN_ORDER = False
FINAL: tuple[str, ...] = ("completed", "failed")
RETRIED: tuple[str, ...] = ("failed", "blocked")
SPREAD = False
SEVERAL = False
TOP = ".claude"
PRESENCE: tuple[str, ...] = (".claude/agent-state.json",)
STATES: tuple[str, ...] = (".claude/agent-state.json", ".claude/agent-state.extra.json")
VIEWS: tuple[str, ...] = (
    ".claude/learnings.jsonl",
    ".claude/locks.json",
    ".claude/checkpoint.json",
    ".claude/checkpoint-*.json",
    ".claude/tasks/*.md",
)
LISTS: tuple[str, ...] = ()
SOURCES: tuple[str, ...] = ()
SHARED = ".claude"
REOPENING = "`holdfast reopen`"
DEFINITIONS = ""
COMMANDS = "Run a task document: tasks, bounds, learnings, checkpoints."
FORMER: tuple[str, ...] = ()
MODEL_VERBS: tuple[str, ...] = tuple(
    f"orchestrator {verb}"
    for verb in ("start", "task", "phase", "supervise", "learn", "checkpoint", "review", "complete", "query", "check")
)
CHECK = "states"
