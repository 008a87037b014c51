"""The record of the `wfs` format: what is known without loading it."""

NAME = "wfs"
RANK = 2
MODULE = "holdfast.formats.wfs.format"
AGENTS = True
UNIT = "task"
IN_ORDER = False
RETRIED: tuple[str, ...] = ("failed", "blocked")
SPREAD = True
SEVERAL = True
TOP = ".workflow"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = (
    ".workflow/WFS-*/workflow-session.json",
    ".workflow/WFS-*/workflow-session.extra.json",
    ".workflow/WFS-*/.task/IMPL-*.json",
)
VIEWS: tuple[str, ...] = (".workflow/WFS-*/*.md", ".workflow/WFS-*/.*/*", ".workflow/.scratchpad/*")
LISTS: tuple[str, ...] = (".workflow/WFS-*/TODO_LIST.md",)
SHARED = ".workflow"
REOPENING = "`holdfast reopen --workflow {id}`"
COMMANDS = "Add, split, show and complete tasks; choose files for other output."
FORMER: tuple[str, ...] = (
    "wfs start = `holdfast start TOPIC --format wfs` starts a session",
    "wfs list = `holdfast status` lists the sessions",
    "wfs active = `holdfast wfs task show` prints the active session with its tasks",
    "wfs switch = `holdfast claim NAME` makes a session active",
    "wfs resume = `holdfast claim NAME` makes a session active",
    "wfs pause = `holdfast cancel` pauses a session",
    "wfs complete = `holdfast done --all` ends a session",
    "wfs check = `holdfast doctor wfs` finds what is wrong",
    "wfs repair = `holdfast doctor wfs --fix` repairs what is wrong",
    "wfs todo = `holdfast doctor wfs --fix` writes TODO_LIST.md from the tasks",
    "wfs task set = edit the task's file; Holdfast follows",
    "wfs task start = `holdfast update --phase ID --status active` begins a task",
    "wfs task block = `holdfast update --phase ID --status blocked --error TEXT` blocks a task",
    "wfs task reopen = `holdfast reopen ID` makes a completed task active again",
    "wfs task list = `holdfast wfs task show` lists the tasks",
    "wfs task next = `holdfast next` begins the next task",
    "wfs task validate = `holdfast doctor wfs` checks the nine rules",
    "wfs task resolve = `holdfast wfs task show ID` fills in the variables",
)
