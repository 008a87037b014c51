"""Refuses commands that destroy files, disks, databases or services, and shells that run what they download.

`rm -rf` is for what a build makes (`disposable`). `rm -r` of anything else asks you.
Where a command can't be read well enough to tell, it asks you.

Known evasions: scripts and programs that delete, other languages (`python -c`), aliases, deleting file by file.

Cost: about 12 ms for a command with pipes, 6 ms for plain words.
"""

import re
import shlex
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from pydantic import BaseModel

from holdfast import Context, Outcome, ask, deny, hookimpl, matches
from holdfast.events import Command, PreToolUse

DEVICE = re.compile(r"(?:of=)?/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|dm-)")
DELETED = re.compile(r"\b(?:drop\s+(?:table|database|schema)|truncate\s|delete\s+from\s+\S+\s*(?:;|$))", re.IGNORECASE)
SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "source", ".")  # and what runs other programs from a pipe:
INTERPRETERS = ("python", "python3", "perl", "ruby", "node", "php")


class Options(BaseModel):
    """What is refused: `commands`. What may be removed with all that is in it: `disposable` (globs)."""

    commands: list[str] = [
        *("mkfs*", "wipefs", "shred", "lvremove", "vgremove", "pvremove", "chmod 777", "crontab -r", "nc -e"),
        *("shutdown", "reboot", "halt", "poweroff", "kill -9 -1", "kill -KILL -1", "kill -- -1", "dropdb"),
        *("redis-cli flushall", "php artisan migrate:fresh", "supabase db reset", "pnpm supabase db reset"),
        *("npx supabase db reset", "curl -X DELETE */_all", "docker system prune", "docker volume rm"),
        *("docker rm -f", "docker volume prune", "docker compose down -v", "kubectl delete namespace"),
        *("kubectl delete ns", "kubectl delete --all", "aws s3 rm --recursive", "aws ec2 terminate-instances"),
        *("gh repo delete", "aws cloudformation delete-stack", "terraform destroy", "vault kv metadata delete"),
        *("restic forget --prune", "rsync --delete*", "tar --checkpoint-action=*"),
    ]
    disposable: list[str] = [
        *("build", "dist", "out", "target", "_build", "coverage", "htmlcov", "node_modules", "package-lock.json"),
        *("__pycache__", "*.pyc", "*.egg-info", ".tox", ".venv", "venv", ".*_cache", ".cache", ".next", ".turbo"),
        *("/tmp/*", "/private/tmp/*", "/var/tmp/*"),
    ]


@hookimpl(
    match="shell",
    on_failure="ask",
    examples={
        "rm -rf ~": "deny",
        "sudo rm -rf /etc/app": "deny",
        "rm -rf src": "deny",
        "rm -r src": "ask",
        "$X -rf /": "ask",
        "rm -rf node_modules": None,
        "rm notes.txt": None,
    },
)
def on_pre_tool_use(event: PreToolUse, context: Context, options: Options) -> Outcome | None:
    """Refuse what destroys."""
    doubt = False
    for command in event.commands:
        unread = not command.argv or 0 in command.unknown
        listed = [each for each in map(shlex.split, options.commands) if unread or command.runs(*each[:2])]
        found = [*(command.runs(*each) for each in listed), overwrites(command), runs_unread_text(event, command)]
        found.append(removes(event, command, context.root, options.disposable))
        if True in found:
            return deny(f"`{' '.join(command.argv)}` destroys what can't be brought back, or runs what nobody has read")
        doubt |= None in found
    return ask("This command may destroy something: check what it does") if doubt else None


def overwrites(command: Command) -> bool:
    """Return whether a command overwrites a disk, deletes all rows, or starts itself over and over."""
    words = command.argv if command.program in ("dd", "cp", "mv", "tee") else ()
    itself = "function" in command.inside and command.stdin and command.stdin.program == command.program
    deletes = command.program in ("psql", "mysql", "mariadb", "sqlite3") and any(map(DELETED.search, command.argv))
    return bool(itself or deletes or any(map(DEVICE.match, (*words, *command.writes))))


def runs_unread_text(event: PreToolUse, command: Command) -> bool | None:
    """Return whether a program runs what is downloaded, or waits for commands; None if it runs what nobody can read."""
    shell, bare = command.program in SHELLS, command.argv[1:] in ((), ("-",))
    words = " ".join([*command.argv, *command.reads, *(word for each in command.sources for word in each.argv)])
    if shell and bare and command.inside[-1:] == ("find -exec",):
        return True
    if (shell and not command.sure) or (bare and command.program in INTERPRETERS):
        opaque = shell and (not command.unknown or "xargs" in command.inside or "<(" in words)
        return True if re.search(r"\b(?:curl|wget)\b", words) else None if opaque else False
    saved = [path for each in event.commands if each.program in ("curl", "wget") for path in event.paths_of(each)]
    started = event.paths_of(command) if shell or "/" in "".join(command.argv[:1]) else ()
    return bool({*saved} & {*started})


def removes(event: PreToolUse, command: Command, root: Path, globs: list[str]) -> bool | None:
    """Return whether a command removes, moves or takes over what matters; None if it may."""
    program, words = command.program, command.argv[1:]
    whole = any(re.fullmatch(r"-\w*[rR]\w*|--recursive", each) for each in words)
    readers = {each.program for each in event.commands if each.stdin is command}
    filtered = program == "find" and {"-name", "-iname", "-path", "-regex"} & {*words}
    if program == "find" and {"-delete", "rm", "unlink"} & {*words, *readers}:
        words, whole = tuple(takewhile(lambda each: each[:1] not in "-(!", words)), True
    elif program not in ("rm", "unlink", "mv") and not (whole and program in ("chmod", "chown", "chgrp")):
        return False
    operands = words[:-1] if program == "mv" else words
    named = event.paths_of(replace(command, argv=(program, *operands), reads=(), writes=()))
    paths = [each.parent if each.name in ("*", ".*") else each for each in named]
    paths = [each for each in paths if not (filtered and each.is_relative_to(root))]
    own = () if program[:2] == "ch" else (root, Path(event.cwd), Path.home())
    if any((len(each.parts) <= 2 and each != root) or any(one.is_relative_to(each) for one in own) for each in paths):
        return True
    if program in ("rm", "find") and whole and not all(disposable(each, root, globs) for each in paths):
        return True if program == "find" or command.runs("rm", "-f") or "--force" in words else None
    unread = {"xargs", "find -exec"} & {*command.inside} or re.search("[$`<]", " ".join(words))
    return None if program in ("rm", "unlink") and (unread or command.folder is None) else False


def disposable(path: Path, root: Path, globs: list[str]) -> bool:
    """Return whether a folder may be removed: in the project by its name, elsewhere by its whole path."""
    if path.is_relative_to(root):
        return matches(globs, path.relative_to(root))
    return matches([each for each in globs if each.startswith("/")], path)
