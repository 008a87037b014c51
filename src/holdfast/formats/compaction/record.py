"""What is known of the `compaction` format without loading it."""

NAME = "compaction"
RANK = 1
ADAPTER = "holdfast.formats.compaction.adapter"
AGENTS = False
UNIT = "phase"
IN_ORDER = True
SPREAD = False
TOP = "untracked/workflow-state"
PRESENCE: tuple[str, ...] = (TOP,)
STATES: tuple[str, ...] = ("untracked/workflow-state/*/state-*.json",)
VIEWS: tuple[str, ...] = ()
LISTS: tuple[str, ...] = ()
SHARED = ""
VERBS: tuple[str, ...] = (
    "Its state is moved on with the command line (files under .claude/ cannot be edited): `holdfast next` says what"
    ' is next, `holdfast done --note "…"` completes the phase, `holdfast update` adds reminders, reading, context.',
)
REOPENING = "`holdfast log` shows what its file held, which `holdfast log restore` puts back"
COMMANDS = ""
MODEL_VERBS: tuple[str, ...] = ()
CHECK = ("", "")
