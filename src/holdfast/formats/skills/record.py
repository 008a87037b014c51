"""The record of the `skills` format: what is known without loading it."""

NAME = "skills"
RANK = 4
ADAPTER = "holdfast.formats.skills.adapter"
AGENTS = True
UNIT = "step"
IN_ORDER = True
FINAL: tuple[str, ...] = ("completed", "failed")  # an abandoned workflow is failed for good
RETRIED: tuple[str, ...] = ()
SPREAD = False
SEVERAL = True
TOP = ".claude/workflow-state"
PRESENCE: tuple[str, ...] = (".claude/workflow-state/active",)
STATES: tuple[str, ...] = (".claude/workflow-state/active/*.json", ".claude/workflow-state/extra/*.extra.json")
VIEWS: tuple[str, ...] = (".claude/workflow-state/completed/*.json", ".claude/workflow-state/index.json")
LISTS: tuple[str, ...] = ()
SOURCES: tuple[str, ...] = ()
SHARED = ""
REOPENING = "put its file back from .claude/workflow-state/completed, where it stays for a day"
DEFINITIONS = "machines"
COMMANDS = "Manage workflows of skills such as /dev and /tdd."
FORMER: tuple[str, ...] = ()
MODEL_VERBS: tuple[str, ...] = (
    *(f"skills {verb}" for verb in ("start", "resume", "phase", "step", "task", "tdd", "checkpoint", "pr", "pending")),
    *(f"skills {verb}" for verb in ("block", "unblock", "complete", "check", "machines")),
)
CHECK = "skills"
