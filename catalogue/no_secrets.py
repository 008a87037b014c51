"""Refuses secrets in commands and in files that are written, and commands that print or send secrets.

What a secret looks like is what Holdfast masks in its own recordings. Name a variable or a file in its place.

Known evasions: secrets that look like nothing in particular, encoded or split ones, programs that read them themselves.

Cost: about 16 ms for a command with pipes, 10 ms for plain words.
"""

import os
import re
from itertools import pairwise

from pydantic import BaseModel

from holdfast import Context, Outcome, ask, deny, hookimpl, matches, redact
from holdfast.events import Command, PreToolUse

SENDERS = ("curl", "wget", "nc", "ncat", "netcat", "telnet", "socat", "http", "https", "ssh")
STREAMS = ("nc", "ncat", "netcat", "telnet", "socat", "ssh")  # they send what is piped to them
DATA = ("-d", "--data", "--data-raw", "--data-binary", "-F", "--form", "--post-data")
LISTINGS = (("set",), ("export",), ("export", "-p"), ("declare", "-p"), ("declare", "-x"), ("printenv",))


class Options(BaseModel):
    """Which `variables` hold secrets (a regular expression), and files (globs) in which a text may look like one."""

    variables: str = r"\w*(?:API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL)\w*"
    unless: list[str] = ["test", "tests", "test_*", "*.test.*", "*.spec.*", "fixtures", "*example*", "*.md"]


@hookimpl(
    match="shell|Edit|Write|NotebookEdit",
    on_failure="ask",
    examples={
        "aws configure set aws_access_key_id AKIAIOSFODNN7EXAMPLE": "deny",
        "printenv": "deny",
        "env | sort": "deny",
        "src/config.py": {"tool_name": "Write", "content": "key = 'AKIAIOSFODNN7EXAMPLE'", "answer": "deny"},
        "src/app.py": {"tool_name": "Write", "content": "key = os.environ['KEY']", "answer": None},
        "env CI=1 npm test": None,
    },
)
def on_pre_tool_use(event: PreToolUse, context: Context, options: Options) -> Outcome | None:
    """Refuse what reveals a secret."""
    names = [] if event.commands else [os.path.relpath(each, context.root) for each in event.paths]
    text = "\n".join(str(event.tool_input.get(each, "")) for each in ("command", "content", "new_string", "new_source"))
    if redact(text) != text and not any(matches(options.unless, each) for each in names):
        return deny("This contains a secret. Read it from a variable or a file that isn't committed.")
    secret = re.compile(rf"\$\{{?(?:{options.variables})|^(?:{options.variables})$")
    for command in event.commands:
        if prints(event, command, secret) or sends(event, command, secret, context):
            return deny(f"`{' '.join(command.argv)}` reveals secrets. Use them without printing or sending them.")
    unread = any(command.runs("printenv") is None for command in event.commands)
    return ask("This command can't be read well enough to tell whether it reveals secrets") if unread else None


def prints(event: PreToolUse, command: Command, secret: re.Pattern[str]) -> bool:
    """Return whether a command lists all variables, or prints one with a secret where others see it."""
    readers = [each.program for each in event.commands if each.stdin is command]
    if command.program == "env":
        return all(each.startswith("-") or "=" in each for each in command.argv[1:])
    if command.program in ("echo", "printf") and any("$" in each and secret.search(each) for each in command.argv):
        return not (readers or command.writes) or bool({*SENDERS} & {*readers})
    return command.argv in LISTINGS or (command.program == "printenv" and any(map(secret.search, command.argv)))


def sends(event: PreToolUse, command: Command, secret: re.Pattern[str], context: Context) -> bool:
    """Return whether a command sends a variable with a secret, or a file from outside the project."""
    if command.program in SENDERS:
        if any(before in DATA and secret.search(each) for before, each in pairwise(command.argv)):
            return True
        piped = command.sources if command.program in STREAMS or "@-" in command.argv else ()
        paths = [
            path for each in piped for path in event.paths_of(each) if not matches(["*.pub", "/tmp", "/dev"], path)
        ]
        return not all(each.is_relative_to(context.root) for each in paths)
    return False
