"""The record of the `wfs` format: what is known without loading it."""

NAME = "wfs"
RANK = 2
ADAPTER = "holdfast.formats.wfs.adapter"
AGENTS = True
UNIT = "task"
IN_ORDER = False
FINAL: tuple[str, ...] = ("completed",)
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
SOURCES: tuple[str, ...] = ()
SHARED = ".workflow"
REOPENING = "`holdfast wfs resume {id}`"
DEFINITIONS = ""
COMMANDS = "Manage sessions and their tasks."
FORMER: tuple[str, ...] = ()
MODEL_VERBS: tuple[str, ...] = (
    *(f"wfs {verb}" for verb in ("start", "list", "active", "switch", "pause", "resume", "complete")),
    *(f"wfs {verb}" for verb in ("check", "todo", "scratch")),
    *(f"wfs task {verb}" for verb in ("add", "set", "decompose", "start", "complete", "block", "list", "show")),
    *(f"wfs task {verb}" for verb in ("next", "validate", "resolve", "step")),
)
CHECK = "sessions"
