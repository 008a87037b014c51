"""Formats each file that Claude edits, with the formatters that you have, in the background.

Claude is told what was formatted, and what a formatter says that fails.

Known evasions: files that a shell command writes, and those outside the project.

Cost: about 10 ms and the formatter's time, for which nobody waits.
"""

import os
import shlex
import shutil
import subprocess

from pydantic import BaseModel

from holdfast import Context, Outcome, advise, hookimpl, matches
from holdfast.events import PostToolUse

SHOWN_CHARS = 1_000


class Options(BaseModel):
    """The `formatters`: glob → command, to which the file's path is added. `seconds` is how long one may take."""

    formatters: dict[str, str] = {
        "*.py": "ruff format --quiet",
        "*.go": "gofmt -w",
        "*.rs": "rustfmt --edition 2021",
        "*.tf": "terraform fmt",
        "*.[jt]s": "prettier --write --log-level warn",
        "*.[jt]sx": "prettier --write --log-level warn",
    }
    seconds: float = 20


@hookimpl(match="Edit|Write", background=True, timeout=60, examples={"notes.txt": None, "src/app.py": None})
def on_post_tool_use(event: PostToolUse, context: Context, options: Options) -> list[Outcome]:
    """Format the file."""
    places = [f"{context.root}/node_modules/.bin", f"{context.root}/.venv/bin", context.environ.get("PATH", os.defpath)]
    told = []
    for path in event.paths:
        here = path.is_relative_to(context.root) and path.is_file()
        for command in [command for glob, command in options.formatters.items() if here and matches([glob], path)]:
            program, *words = shlex.split(command)
            if found := shutil.which(program, path=os.pathsep.join(places)):
                before, words = path.read_bytes(), [found, *words, str(path)]
                done = subprocess.run(words, cwd=context.root, capture_output=True, text=True, timeout=options.seconds)
                if done.returncode:
                    told.append(advise(f"{program} can't format {path.name}: {done.stderr.strip()[:SHOWN_CHARS]}"))
                elif path.read_bytes() != before:
                    told.append(advise(f"{program} has formatted {path.name}"))
    return told
