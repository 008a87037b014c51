"""The record of the `orchestrator` format: what is known without loading it."""

NAME = "orchestrator"
RANK = 3
MODULE = "holdfast.formats.orchestrator.format"
AGENTS = True
UNIT = "task"
IN_ORDER = False
FINAL: tuple[str, ...] = ("completed", "failed")
RETRIED: tuple[str, ...] = ("failed", "blocked")
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
SHARED = ".claude"
COMMANDS = "Run a task document: bounds, checks, learnings, checkpoints."
FORMER: tuple[str, ...] = (
    "orchestrator start = `holdfast start TASK_DOC --format orchestrator` starts a run",
    "orchestrator task start = `holdfast update --phase ID --status active` starts a task",
    "orchestrator task iterate = `holdfast orchestrator task ID --iterate` begins its next iteration",
    "orchestrator task finish = `holdfast done ID` completes a task; `holdfast orchestrator task ID` names its cost",
    "orchestrator task fail = `holdfast update --phase ID --status failed --error TEXT` ends an attempt",
    "orchestrator task retry = `holdfast update --phase ID --status active` tries a task again",
    "orchestrator task skip = `holdfast orchestrator task ID --skip` leaves a task out",
    "orchestrator task show = `holdfast next ID` prints what a task's agent is told",
    "orchestrator phase = `holdfast orchestrator task ID --issue-url URL` names the issue of its phase",
    "orchestrator agents = `holdfast update --phase ID --status pending` removes the agent of a task",
    "orchestrator bounds extend = `holdfast orchestrator bounds --cost N` sets a bound",
    "orchestrator review = launch an agent of the kind `outer-ralph`",
    "orchestrator complete = `holdfast done --all` ends a run",
    "orchestrator fail = `holdfast cancel` ends a run without success",
    "orchestrator status = `holdfast status` describes the run, with `--json` for programs",
    "orchestrator query = `holdfast status --json` describes the run",
    "orchestrator check = `holdfast doctor orchestrator` checks the run",
    "orchestrator repair = `holdfast doctor orchestrator --fix` repairs the run",
    "orchestrator restore = `holdfast orchestrator checkpoint --restore` goes back to a checkpoint",
    "orchestrator import = `holdfast doctor orchestrator` names what to correct in a state that was kept by hand",
    "orchestrator archive = the next run puts the files of a finished one into .claude/archive/",
    "orchestrator locks = a lock ends with its agent, or ten minutes after its last edit",
)
