"""The record of the `skills` format: what is known without loading it."""

NAME = "skills"
RANK = 4
MODULE = "holdfast.formats.skills.format"
AGENTS = True
FINAL: tuple[str, ...] = ("completed", "failed")  # an abandoned workflow is failed for good
RETRIED: tuple[str, ...] = ()
SEVERAL = True
TOP = ".claude/workflow-state"
PRESENCE: tuple[str, ...] = (".claude/workflow-state/active",)
STATES: tuple[str, ...] = (".claude/workflow-state/active/*.json", ".claude/workflow-state/extra/*.extra.json")
VIEWS: tuple[str, ...] = (".claude/workflow-state/completed/*.json", ".claude/workflow-state/index.json")
REOPENING = "put its file back from .claude/workflow-state/completed, where it stays for a day"
DEFINITIONS = "machines"
COMMANDS = "Manage workflows of skills such as /dev and /tdd."
FORMER: tuple[str, ...] = (
    "skills list = `holdfast status` lists the workflows",
    "skills resume = `holdfast skills start SKILL ABOUT` shows and continues a workflow",
    "skills step = `holdfast skills phase NAME --step STEP` records that work on a step has begun",
    "skills pr = `holdfast skills checkpoint pr --passed --set pr_number=N` records the pull request",
    "skills block = `holdfast update --status blocked --error TEXT` blocks the workflow",
    "skills unblock = `holdfast update --status active` continues a blocked workflow",
    "skills complete = `holdfast done` completes the last phase, `holdfast done --all` ends the workflow as it is",
    "skills abandon = `holdfast cancel --reason TEXT` gives the workflow up",
    "skills cleanup = `holdfast doctor --fix` removes old workflows, and so does `holdfast skills start`",
    "skills clear = `rm -r .claude/workflow-state` removes all workflows, `holdfast cancel NAME` gives one up",
    "skills check = `holdfast doctor` checks the files",
    "skills repair = `holdfast doctor --fix` repairs the files",
    "skills machines = `holdfast formats list` lists the machines",
    "skills trust = `holdfast formats trust machines/NAME` trusts a machine",
)
