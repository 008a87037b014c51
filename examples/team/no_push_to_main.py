"""Keep the team's main branch: nobody's Claude pushes to it.

Put this file into the project's `.claude/handlers/`, run `holdfast install --scope project`, and commit both. Each
teammate reads it once and runs `holdfast handlers trust`. It needs `holdfast[shell]`, which reads bash.
"""

from pydantic import BaseModel

from holdfast import Outcome, deny, hookimpl
from holdfast.events import PreToolUse


class Options(BaseModel):
    """A teammate sets them in `[options.no_push_to_main]` of holdfast.toml."""

    branches: list[str] = ["main", "release"]


@hookimpl(
    match="shell",
    strict=True,  # if this fails, the push is refused: a guard that is silent would be none
    examples={
        "git push origin main": "deny",
        "git add -A && git push -u origin main": "deny",
        "git push origin HEAD:release": "deny",
        "git push origin login": None,
        "git commit -m 'push to main later'": None,
    },
)
def on_pre_tool_use(event: PreToolUse, options: Options) -> Outcome | None:
    """Refuse a push to a branch that only the review merges into."""
    for command in event.commands:
        if command.runs("git", "push"):
            targets = {word.rpartition(":")[2] for word in command.argv}
            for branch in options.branches:
                if branch in targets:
                    return deny(f"push to a branch of your own, not to {branch}, and open a pull request")
    return None
