"""Requirements that name an operation, each with the command that does it."""

from __future__ import annotations

OPERATIONS: dict[str, tuple[str, ...]] = {
    "R000-16": ("holdfast start TITLE --format hybrid --phase PHASE",),
    "R000-18": ("holdfast done PHASE --deliverable D", "holdfast update --phase PHASE --status failed"),
    "R000-19": ("holdfast status --json",),
    "R000-35": ("holdfast next",),
    "R000-38": ("holdfast status --all", "holdfast start TITLE --template NAME"),
    "R000-40": ("holdfast status --protocol",),
    "I000-7": ("holdfast done PHASE",),
    "I000-9": ("holdfast update --phase PHASE --status active", "holdfast reopen PHASE"),
    "I000-11": ("holdfast status --todos",),
    "R001-11": ("holdfast start TITLE --type T --phase PHASE --read PATH --remind TEXT --set K=V",),
    "R001-12": ("holdfast done", "holdfast update --phase N"),
    "R001-19": ("holdfast done", "holdfast done --all"),
    "R001-24": ("holdfast install", "holdfast handlers"),
    "R001-27": ("holdfast status --why", "holdfast doctor", "holdfast log"),
    "I001-3": ("holdfast done --all", "holdfast status --all"),
    "R002-04": ("holdfast cancel SESSION",),
    "R002-07": ("holdfast claim SESSION",),
    "R002-09": ("holdfast start TOPIC --format wfs",),
    "R002-10": ("holdfast doctor --fix",),
    "R002-33": ("holdfast doctor",),
    "R002-35": ("holdfast wfs scratch",),
    "R002-44": ("holdfast wfs task show ID",),
    "R002-45": ("holdfast wfs task add TITLE", "holdfast wfs task decompose ID", "holdfast update --phase ID"),
    "I002-11": ("holdfast doctor --fix",),
    "I002-13": ("holdfast done --all SESSION",),
    "I002-14": ("holdfast claim SESSION",),
    "R003-12": ("holdfast orchestrator supervise",),
    "R003-18": ("holdfast orchestrator learn",),
    "R003-20": ("holdfast orchestrator checkpoint",),
    "R003-22": ("holdfast done", "holdfast cancel"),
    "R003-28": ("holdfast doctor --fix", "holdfast restore"),
    "R003-31": ("holdfast orchestrator bounds",),
    "R003-32": ("holdfast status --json",),
    "I003-8": ("holdfast doctor --fix", "holdfast restore N"),
    "R004-08": ("holdfast status",),
    "R004-24": ("holdfast skills start",),
    "R004-25": ("holdfast skills phase",),
    "R004-26": ("holdfast skills task",),
    "R004-27": ("holdfast skills checkpoint",),
    "R004-28": ("holdfast done --all",),
    "R004-29": ("holdfast skills pending",),
    "R004-38": ("holdfast doctor --fix",),
    "R004-39": ("holdfast cancel", "holdfast forget --workflow NAME"),
    "I004-19": ("holdfast update --status blocked --error TEXT", "holdfast cancel --reason TEXT"),
}
"""The commands of each number, as people type them."""

HEADING = "## Which command does it"
_WORDS = """\
Requirements that name an operation, and the command that does it. Handlers do most of this by themselves.
"""


def table() -> str:
    """Return the section of the page that lists the operations."""
    rows = [f"| {number} | {' · '.join(f'`{each}`' for each in calls)} |" for number, calls in OPERATIONS.items()]
    return "\n".join([HEADING, "", _WORDS, "| | command |", "|---|---|", *rows, ""])
